// One operation: a line that opens to what it takes, what it gives, and a form to try it.

function methodBadge(method) {
  return h('span', {class: 'method m-' + method}, method.toUpperCase());
}

// A path, with a chance to break the line behind each '/'.
function pathView(path) {
  return h('span', {class: 'path'}, path.split(/(?<=\/)|(?=\{)|(?<=\})/).flatMap((part, i) =>
    [i > 0 && h('wbr'), part.startsWith('{') ? h('span', {class: 'variable'}, part) : part]));
}

function parameterRow(parameter) {
  const content = entriesOf(own(parameter, 'content'))[0];
  const reference = (content ? own(content[1], 'schema') : own(parameter, 'schema')) ?? {};
  const schema = flattened(reference);
  const isRequired = own(parameter, 'required') === true || parameter.in === 'path';
  const {style, explode} = styleOf(parameter);
  const isPlain = !['array', 'object'].includes(typesOf(schema)[0]);
  const written = isPlain || content ? null : serialized(parameter, typesOf(schema)[0] === 'array' ? ['a', 'b'] : {a: '1', b: '2'});
  const examples = examplesOf({...parameter, schema: undefined}, true);
  const inside = hasInside(schema) && disclosure({label: [icon('chevron'), 'What is inside'], attributes: {class: 'link-button opens'}, make: () => schemaInside(schema)});
  return h('li', {class: 'row'},
    h('div', {class: 'row-head'}, h('span', {class: 'name'}, parameter.name), ' ', h('span', {class: 'type'}, typeLabel(reference)), ' ',
      schemaFlags({...schema, deprecated: own(parameter, 'deprecated')}, isRequired), content && badge(content[0])),
    h('div', {class: 'row-facts'},
      own(parameter, 'description') && markdown(parameter.description, 6),
      schemaFacts(schema, {skipsDescription: own(parameter, 'description') !== undefined}),
      written && h('p', {class: 'values'}, h('span', {class: 'label'}, 'Written as '), h('code', null, decodeURI(written).slice(0, 80)),
        h('span', {class: 'muted'}, ' (' + style + (explode ? ', exploded)' : ')'))),
      examples.length > 0 && h('p', {class: 'values'}, h('span', {class: 'label'}, 'Example '),
        examples.slice(0, 5).map((example) => [h('code', null, shortJson(example.value)), ' '])),
      inside && [inside.button, inside.body]));
}

const places = {path: 'Path parameters', query: 'Query parameters', header: 'Header parameters', cookie: 'Cookie parameters'};

function parametersView(entry) {
  const parameters = parametersOf(entry);
  return Object.entries(places).map(([place, title]) => {
    const here = parameters.filter((parameter) => parameter.in === place);
    return here.length > 0 && [h('h4', null, title), rowList(here.map((parameter) => () => parameterRow(parameter)))];
  });
}

// Media types with schema and examples; several are chosen from.
function contentView(content, isRequest) {
  const medias = entriesOf(content);
  if (medias.length === 0) return null;
  const place = h('div');
  const show = (type) => {
    const media = own(content, type) ?? {};
    const examples = examplesOf(media, isRequest);
    const textOfExample = (value) => (typeof value === 'string' && !/json/.test(type) ? value : JSON.stringify(value, null, 2)) ?? '';
    const shown = own(media, 'schema') !== undefined && schemaView(media.schema);
    const code = h('div');
    const use = (i) => fill(code, codeBlock(textOfExample(examples[i].value).slice(0, 100000), 'Example'));
    const isBinary = own(media, 'schema') !== undefined && isFile(flattened(media.schema), type);
    if (examples.length > 0 && !isBinary) use(0);
    const choice = examples.length > 1 && selectOf(examples.map((example, i) => [String(i), example.summary || example.name]),
      {'aria-label': 'Example', onchange: (event) => use(Number(event.target.value))});
    const example = examples.length > 0 && !isBinary && disclosure({
      label: [icon('chevron'), examples[0].isMade ? 'Example, made from the schema' : examples.length > 1 ? 'Examples' : 'Example'],
      attributes: {class: 'link-button opens'}, make: () => [choice, code], open: !isRequest && examples[0].isMade !== true,
    });
    fill(place, shown, example && [example.button, example.body]);
  };
  show(medias[0][0]);
  const head = medias.length > 1
    ? selectOf(medias.map(([type]) => [type, type]), {'aria-label': 'Media type', onchange: (event) => show(event.target.value)})
    : h('code', {class: 'media'}, medias[0][0]);
  return h('div', {class: 'content'}, head, place);
}

function responseRow(status, reference) {
  const response = deref(reference);
  const headers = entriesOf(own(response, 'headers'));
  const links = entriesOf(own(response, 'links'));
  const hasMore = entriesOf(own(response, 'content')).length > 0 || headers.length > 0 || links.length > 0;
  const description = textOf(own(response, 'description')) || textOf(own(response, 'summary'));
  const [firstLine] = description.split('\n');
  const head = [h('span', {class: 'status-code s' + status[0]}, status), ' ', h('span', {class: 'response-text'}, inlineMarkdownText(firstLine) || 'Response')];
  if (!hasMore) return h('li', {class: 'row'}, h('div', {class: 'row-head'}, head), description.includes('\n') && markdown(description, 6));
  const {button, body} = disclosure({
    label: [icon('chevron'), ...head], attributes: {class: 'row-head opens'}, open: /^2/.test(status),
    make: () => [
      description.includes('\n') && markdown(description, 6),
      headers.length > 0 && [h('h5', null, 'Headers'), rowList(headers.map(([name, header]) => () =>
        parameterRow({...deref(header), name, in: 'header'})))],
      contentView(own(response, 'content'), false),
      links.length > 0 && [h('h5', null, 'Links'), h('ul', null, links.map(([name, link]) => {
        const {operationId, operationRef, description: text} = deref(link);
        return h('li', null, h('code', null, name), ': ',
          typeof operationId === 'string' ? h('a', {href: '#' + encodeURIComponent(operationId)}, operationId) : textOf(operationRef), ' ', textOf(text));
      }))],
    ],
  });
  return h('li', {class: 'row'}, button, body);
}

// Of a line inside a button, where no link may stand.
function inlineMarkdownText(text) {
  const scratch = h('span', null, inlineMarkdown(text));
  return scratch.textContent;
}

function responsesView(operation) {
  const responses = entriesOf(own(operation, 'responses')).filter(([status]) => !status.startsWith('x-'));
  if (responses.length === 0) return null;
  return [h('h4', null, 'Responses'), h('ul', {class: 'rows'}, responses.map(([status, response]) => responseRow(status, response)))];
}

function requestBodyView(operation) {
  if (own(operation, 'requestBody') === undefined) return null;
  const requestBody = deref(operation.requestBody);
  return [h('h4', null, 'Request body ', own(requestBody, 'required') === true && badge('required', 'required')),
    own(requestBody, 'description') && markdown(requestBody.description, 6), contentView(own(requestBody, 'content'), true)];
}

function callbacksView(operation) {
  const rows = [];
  for (const [name, reference] of entriesOf(own(operation, 'callbacks'))) {
    for (const [expression, item] of entriesOf(deref(reference))) {
      for (const method of methods) {
        const callback = own(deref(item), method);
        if (!isObject(callback)) continue;
        rows.push(() => {
          const {button, body} = disclosure({
            label: [icon('chevron'), methodBadge(method), ' ', h('span', {class: 'name'}, name), ' ', h('code', null, expression)],
            attributes: {class: 'row-head opens'},
            make: () => [textOf(own(callback, 'description')) && markdown(callback.description, 6), requestBodyView(callback), responsesView(callback)],
          });
          return h('li', {class: 'row'}, button, body);
        });
      }
    }
  }
  return rows.length > 0 && [h('h4', null, 'Callbacks'), rowList(rows)];
}

function securityView(operation) {
  const alternatives = securityOf(operation);
  if (alternatives.length === 0) return null;
  const said = alternatives.map((alternative) => Object.entries(alternative).map(([name, scopes]) =>
    name + (listOf(scopes).length > 0 ? ' (' + scopes.join(', ') + ')' : '')).join(' and ') || 'nothing');
  return h('p', {class: 'security'}, icon('lock'), ' ', h('a', {href: '#authentication'}, 'Authentication'), ': ', said.join(', or '));
}

function operationInside(entry) {
  const {operation} = entry;
  const docs = own(operation, 'externalDocs');
  const about = h('div', {class: 'about'},
    own(entry.item, 'description') && markdown(entry.item.description, 4),
    own(operation, 'description') && markdown(operation.description, 4),
    isObject(docs) && h('p', null, externalLink(docs.url, textOf(docs.description) || textOf(docs.url))),
    securityView(operation), parametersView(entry), requestBodyView(operation), responsesView(operation), callbacksView(operation));
  if (entry.isWebhook) return about;
  return h('div', {class: 'columns'}, about, h('section', {class: 'side', 'aria-label': 'Try it'}, h('h4', null, 'Try it'), tryForm(entry)));
}

// Sets entry.card, and entry.open(isOpen).
function operationCard(entry, id) {
  const {operation} = entry;
  const isDeprecated = own(operation, 'deprecated') === true;
  const summary = textOf(own(operation, 'summary')) || (own(operation, 'description') ? '' : textOf(own(operation, 'operationId')));
  const body = h('div', {class: 'operation-body'});
  const {button, show} = disclosure({
    label: [methodBadge(entry.method), pathView(entry.path), h('span', {class: 'summary'}, summary),
      isDeprecated && badge('deprecated', 'deprecated'),
      securityOf(operation).some((one) => Object.keys(one).length > 0) && h('span', {class: 'lock'}, icon('lock'), h('span', {class: 'visually-hidden'}, 'needs authentication')),
      icon('chevron')],
    attributes: {class: 'operation-head opens'}, into: body, make: () => operationInside(entry),
  });
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-expanded') === 'true') history.replaceState(null, '', '#' + encodeURIComponent(entry.id));
  });
  const card = h('article', {class: 'operation' + (isDeprecated ? ' is-deprecated' : ''), id}, h('h3', null, button), body);
  entry.cards = [...(entry.cards ?? []), {card, show, button}];
  return card;
}
