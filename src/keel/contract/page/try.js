// The form of an operation: what is filled in, what is sent, and what came back.

function selectOf(options, attributes) {
  return h('select', attributes, options.map(([value, label]) => h('option', {value}, label)));
}

// {element, read()}: read() gives the value; undefined: nothing is sent. It throws what is wrong with the text.
function inputOf(schemaReference, {id, describedBy, initial, isRequired, isJson = false}) {
  const schema = flattened(schemaReference ?? {});
  const types = typesOf(schema).filter((type) => type !== 'null');
  const common = {id, 'aria-describedby': describedBy, required: isRequired, 'aria-required': isRequired ? 'true' : null};
  const values = listOf(own(schema, 'enum')).filter((value) => !isObject(value) && !Array.isArray(value));
  const type = types[0] ?? (values.length > 0 ? 'string' : own(schema, 'properties') ? 'object' : own(schema, 'items') ? 'array' : 'string');
  const text = initial === undefined || initial === null ? '' : valueText(initial);
  if (isJson || type === 'object') {
    const area = h('textarea', {...common, rows: '4', spellcheck: 'false', class: 'mono', placeholder: 'JSON'}, initial === undefined ? '' : JSON.stringify(initial, null, 2));
    return {element: area, read: () => (area.value.trim() === '' ? undefined : JSON.parse(area.value))};
  }
  if (type === 'array') {
    const item = flattened(own(schema, 'items') ?? {});
    const choices = listOf(own(item, 'enum')).filter((value) => !isObject(value));
    if (choices.length > 0 && choices.length <= 12) {
      const boxes = choices.map((value) => h('input', {type: 'checkbox', value: valueText(value), checked: Array.isArray(initial) && initial.includes(value)}));
      const element = h('div', {id, role: 'group', class: 'choices', 'aria-describedby': describedBy},
        boxes.map((box) => h('label', null, box, ' ', box.value)));
      return {element, isGroup: true, read: () => {
        const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
        return chosen.length > 0 ? chosen : undefined;
      }};
    }
    const area = h('textarea', {...common, rows: '2', spellcheck: 'false', placeholder: 'one value on each line'}, Array.isArray(initial) ? initial.map(valueText).join('\n') : '');
    return {element: area, read: () => (area.value === '' ? undefined : area.value.split('\n').filter((line) => line !== ''))};
  }
  if (type === 'boolean' || values.length > 0) {
    const choices = type === 'boolean' && values.length === 0 ? ['true', 'false'] : values.map(valueText);
    const select = selectOf([...(isRequired ? [] : [['', '(not sent)']]), ...choices.map((value) => [value, value])], common);
    select.value = choices.includes(text) ? text : isRequired ? choices[0] : '';
    return {element: select, read: () => (select.value === '' && !choices.includes('') ? undefined : select.value)};
  }
  const isNumber = type === 'integer' || type === 'number';
  const defaultValue = own(schema, 'default');
  const input = h('input', {
    ...common, type: own(schema, 'format') === 'password' ? 'password' : 'text', inputmode: isNumber ? 'decimal' : null,
    autocomplete: 'off', spellcheck: 'false', value: text,
    placeholder: defaultValue !== undefined ? valueText(defaultValue) : null,
  });
  return {element: input, read: () => (input.value === '' ? undefined : input.value)};
}

function field(label, badges, hint, make) {
  const id = nextId('field');
  const hintId = id + '-hint';
  const problem = h('p', {class: 'problem', role: 'alert', hidden: true});
  const input = make(id, hintId);
  const name = input.isGroup ? h('span', {class: 'field-name', id: id + '-name'}, label) : h('label', {class: 'field-name', for: id}, label);
  if (input.isGroup) input.element.setAttribute('aria-labelledby', id + '-name');
  const element = h('div', {class: 'field'}, h('div', {class: 'field-head'}, name, badges), input.element,
    h('div', {class: 'hint', id: hintId}, hint), problem);
  const complain = (text) => {
    problem.textContent = text ?? '';
    problem.hidden = !text;
    input.element.setAttribute('aria-invalid', String(Boolean(text)));
  };
  return {...input, element, input: input.element, complain};
}

const isFile = (schema, contentType) => {
  const one = own(schema, 'type') === 'array' ? flattened(own(schema, 'items') ?? {}) : schema;
  return ['binary', 'byte'].includes(own(one, 'format')) || (own(one, 'contentMediaType') !== undefined && own(one, 'contentEncoding') === undefined) ||
    /^(image|audio|video)\/|octet-stream/.test(textOf(contentType));
};

function parameterField(parameter) {
  const content = entriesOf(own(parameter, 'content'))[0];
  const schemaReference = content ? own(content[1], 'schema') : own(parameter, 'schema');
  const schema = flattened(schemaReference ?? {});
  const isRequired = own(parameter, 'required') === true || parameter.in === 'path';
  const example = examplesOf({...schema, ...parameter, schema: schemaReference}, true)[0];
  const initial = isRequired ? example?.value : undefined;
  const made = field(parameter.name,
    [badge(parameter.in), h('span', {class: 'type'}, typeLabel(schemaReference ?? {})), isRequired && badge('required', 'required')],
    null,
    (id, describedBy) => inputOf(schemaReference, {id, describedBy, initial, isRequired, isJson: content !== undefined && /json/.test(content[0])}));
  return {...made, parameter, isRequired};
}

// {element, read()}: read() gives what makeRequest() takes as `body`.
function bodyForm(requestBody) {
  const contents = entriesOf(own(requestBody, 'content'));
  if (contents.length === 0) return null;
  const isRequired = own(requestBody, 'required') === true;
  const place = h('div');
  let current = null;
  const use = (type) => {
    current = bodyEditor(type, own(requestBody.content, type) ?? {}, isRequired);
    fill(place, current.element);
  };
  const id = nextId('field');
  const select = selectOf(contents.map(([type]) => [type, type]), {id, onchange: () => use(select.value)});
  use(contents[0][0]);
  return {
    element: h('div', {class: 'body-form'},
      h('div', {class: 'field-head'}, h('h5', null, 'Body'), isRequired && badge('required', 'required'),
        contents.length > 1 ? [h('label', {class: 'visually-hidden', for: id}, 'Media type of the body'), select] : h('code', null, contents[0][0])),
      place),
    read: () => current.read(),
  };
}

function bodyEditor(type, media, isRequired) {
  const schema = flattened(own(media, 'schema') ?? {});
  if (/^multipart\/|x-www-form-urlencoded/.test(type)) {
    const fields = entriesOf(own(schema, 'properties')).slice(0, 200).map(([name, reference]) => {
      const property = flattened(reference);
      const isNeeded = listOf(own(schema, 'required')).includes(name);
      const ofFile = type.startsWith('multipart/') && isFile(property, own(own(own(media, 'encoding'), name), 'contentType'));
      const example = own(own(media, 'example'), name) ?? (isNeeded ? exampleOf(reference, true) : undefined);
      const made = field(name, [h('span', {class: 'type'}, ofFile ? 'file' : typeLabel(reference)), isNeeded && badge('required', 'required')],
        null, (id, describedBy) => {
          if (!ofFile) return inputOf(reference, {id, describedBy, initial: example, isRequired: isNeeded});
          const input = h('input', {id, type: 'file', 'aria-describedby': describedBy, multiple: own(property, 'type') === 'array'});
          return {element: input, read: () => (input.files.length > 0 ? [...input.files] : undefined)};
        });
      return {...made, name, isNeeded};
    });
    return {
      element: h('div', {class: 'fields'}, fields.map((one) => one.element)),
      // Files come last: a service that reads them as they arrive needs the fields before.
      read: () => ({type, fields: readAll(fields).flatMap(([one, value]) =>
        (Array.isArray(value) ? value : [value]).map((single) => [one.name, single instanceof File ? single : valueText(single)]))
        .sort(([, a], [, b]) => Number(a instanceof File) - Number(b instanceof File))}),
    };
  }
  if (own(media, 'schema') !== undefined ? isFile(schema, type) : /octet-stream|^(image|audio|video)\//.test(type)) {
    const made = field('File', [], null, (id, describedBy) => {
      const input = h('input', {id, type: 'file', 'aria-describedby': describedBy});
      return {element: input, read: () => input.files[0]};
    });
    return {element: made.element, read: () => (made.read() ? {type, file: made.read()} : null)};
  }
  const isJson = isJsonContent(type, media);
  const sent = isJson && type.includes('*') ? 'application/json' : type;
  const examples = examplesOf(media, true);
  const textOfExample = (example) => (example === undefined ? '' : isJson || typeof example.value !== 'string' ? JSON.stringify(example.value, null, 2) : example.value);
  const initial = isJson ? textOfExample(examples[0]) : examples[0]?.isMade && typeof examples[0].value !== 'string' ? '' : textOfExample(examples[0]);
  const made = field('Content', [], null, (id, describedBy) => {
    const area = h('textarea', {id, class: 'mono', spellcheck: 'false', rows: String(Math.min(18, Math.max(4, initial.split('\n').length + 1))), 'aria-describedby': describedBy}, initial);
    return {element: area, read: () => area.value};
  });
  const verdict = h('span', {class: 'verdict'});
  const check = () => {
    let problem = '';
    try {
      if (isJson && made.input.value.trim() !== '') JSON.parse(made.input.value);
    } catch (error) {
      problem = error.message;
    }
    made.complain(problem ? 'This is not JSON: ' + problem : '');
    verdict.textContent = isJson && !problem && made.input.value.trim() !== '' ? 'valid JSON' : '';
  };
  made.input.addEventListener('input', check);
  check();
  const choice = examples.length > 1 && selectOf(examples.map((example, i) => [String(i), example.summary || example.name]), {
    'aria-label': 'Example of the body', onchange: (event) => {
      made.input.value = textOfExample(examples[Number(event.target.value)]);
      check();
    },
  });
  append(made.element.querySelector('.field-head'), [choice, verdict]);
  return {element: made.element, read: () => (made.input.value === '' && !isRequired ? null : {type: sent, text: made.input.value})};
}

// [[field, value]] of those that have one. Throws when one is missing or wrong, which then has the focus.
function readAll(fields) {
  const values = [];
  let first = null;
  for (const one of fields) {
    let problem = '';
    try {
      const value = one.read();
      if (value !== undefined) values.push([one, value]);
      else if (one.isRequired || one.isNeeded) problem = 'A value is required.';
    } catch (error) {
      problem = 'This is not JSON: ' + error.message;
    }
    one.complain(problem);
    if (problem) first ??= one;
  }
  if (first) {
    first.input.focus();
    throw new Error('Some fields are missing or wrong.');
  }
  return values;
}

// Where responses have several media types, the one that is asked for.
function acceptField(entry) {
  const types = new Set();
  for (const [status, response] of entriesOf(own(entry.operation, 'responses'))) {
    if (/^2|default/.test(status)) for (const [type] of entriesOf(own(deref(response), 'content'))) types.add(type);
  }
  if (types.size < 2) return null;
  return field('Accept', [badge('header')], null, (id, describedBy) => {
    const element = selectOf([...types].map((type) => [type, type]), {id, 'aria-describedby': describedBy});
    return {element, read: () => element.value};
  });
}

function tryForm(entry) {
  const fields = parametersOf(entry).map(parameterField);
  const requestBody = deref(own(entry.operation, 'requestBody') ?? {});
  const body = bodyForm(requestBody);
  const accept = acceptField(entry);
  const result = h('div', {class: 'result', 'aria-live': 'polite'});
  const problem = h('p', {class: 'problem', role: 'alert', hidden: true});
  const security = h('p', {class: 'hint'});
  const showSecurity = () => {
    const alternatives = securityOf(entry.operation);
    const isOptional = alternatives.some((one) => Object.keys(one).length === 0);
    const isGiven = alternatives.some((one) => Object.keys(one).length > 0 && Object.keys(one).every((name) => credentials.has(name)));
    const needs = alternatives.map((one) => Object.keys(one).join(' and ')).filter(Boolean).join(', or ');
    fill(security, needs === '' ? null : isGiven ? [icon('lock'), ' Sent with your credentials.']
      : [icon('lock'), (isOptional ? ' It may be sent with ' : ' It needs ') + needs + ': ', h('a', {href: '#authentication'}, 'authenticate'), '.']);
  };
  credentialsChanged.addEventListener('change', showSecurity);
  showSecurity();
  const make = () => {
    problem.hidden = true;
    try {
      const request = makeRequest(entry, readAll(fields).map(([one, value]) => [one.parameter, value]), body === null ? null : body.read());
      if (accept) request.headers.push(['Accept', accept.read()]);
      return request;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      return null;
    }
  };
  let sending = null;
  const cancel = h('button', {type: 'button', class: 'button', hidden: true, onclick: () => sending?.abort()}, 'Cancel');
  const submit = async (event) => {
    event.preventDefault();
    const request = make();
    if (!request) return;
    sending?.abort();
    const mine = sending = new AbortController();
    cancel.hidden = false;
    fill(result, h('p', {class: 'muted'}, 'Sending…'), curlView(request));
    try {
      const answer = await send(request, mine.signal, (response, text) => {
        if (/event-stream|ndjson|jsonl/.test(response.headers.get('content-type') ?? '')) {
          fill(result, statusView(response), codeBlock(text, 'Response body'));
        }
      });
      fill(result, await answerView(request, answer));
    } catch (error) {
      await new Promise((done) => setTimeout(done, 50));  // A violation of the policy is told after the failure.
      const isBlocked = blockedOrigins.has(originOf(request.url));
      fill(result, h('p', {class: 'problem'}, mine.signal.aborted ? 'The request was cancelled.'
        : isBlocked ? 'This page may not send requests to ' + originOf(request.url) + ': the service has to name it in the origins of its documentation.'
        : 'There was no response: ' + error.message + '. ' + (originOf(request.url) === location.origin ? 'The service may have stopped.'
          : 'The other origin has to allow requests of this page (CORS).')), curlView(request));
    } finally {
      if (sending === mine) cancel.hidden = true;
    }
  };
  const curl = h('button', {type: 'button', class: 'button', onclick: () => {
    const request = make();
    if (request) fill(result, curlView(request));
  }}, 'Show curl');
  return h('form', {class: 'try', novalidate: true, onsubmit: submit, 'aria-label': 'Try ' + entry.id},
    fields.length > 0 ? h('div', {class: 'fields'}, fields.map((one) => one.element)) : null,
    body?.element ?? null, accept?.element ?? null,
    fields.length === 0 && body === null && accept === null ? h('p', {class: 'muted'}, 'Nothing has to be filled in.') : null,
    h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'button primary'}, icon('send'), 'Send'), curl, cancel, security),
    problem, result);
}

const originOf = (url) => {
  try {
    return new URL(url, location.href).origin;
  } catch {
    return '';
  }
};
const blockedOrigins = new Set();
document.addEventListener('securitypolicyviolation', (event) => {
  if (event.effectiveDirective === 'connect-src') blockedOrigins.add(originOf(event.blockedURI));
});

const curlView = (request) => h('div', null, h('h6', null, 'As a command'), codeBlock(curlOf(request), 'curl command'));

function statusView(response, extra) {
  const kind = Math.floor(response.status / 100);
  return h('p', {class: 'status'}, h('strong', {class: 'status-code s' + kind}, response.status + (response.statusText ? ' ' + response.statusText : '')), extra ? ' ' : null, extra && h('span', {class: 'muted'}, extra));
}

async function answerView(request, {response, blob, time, isCut}) {
  const type = blob.type.split(';')[0].trim().toLowerCase();
  const name = (new URL(response.url).pathname.split('/').pop() || 'response').slice(0, 100);
  const download = h('button', {type: 'button', class: 'button small', onclick: () => {
    const url = URL.createObjectURL(blob);
    h('a', {href: url, download: name}).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }}, 'Download');
  let body = null;
  if (blob.size === 0) {
    body = h('p', {class: 'muted'}, 'There is no body.');
  } else if (/^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(type) && blob.size < 5 << 20) {
    const url = await new Promise((done) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.readAsDataURL(blob);
    });
    body = h('img', {src: url, alt: 'The body of the response', class: 'preview'});
  } else if (/json|^text\/|xml|javascript|yaml|urlencoded/.test(type) || type === '') {
    let text = await blob.slice(0, 1 << 20).text();
    try {
      if (/json/.test(type) && blob.size <= 1 << 20) text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // It is shown as it came.
    }
    body = [codeBlock(text, 'Response body'), blob.size > 1 << 20 && h('p', {class: 'muted'}, 'The first MiB is shown.')];
  } else {
    body = h('p', {class: 'muted'}, 'The body is ' + (type || 'of no known type') + '.');
  }
  const headers = [...response.headers].map(([key, value]) => key + ': ' + value).join('\n');
  const more = disclosure({label: [icon('chevron'), 'Response headers'], attributes: {class: 'link-button opens'}, make: () => codeBlock(headers || '(none that a page may read)', 'Response headers')});
  announce('Response ' + response.status);
  return [
    h('h6', null, 'Response'),
    statusView(response, Math.round(time) + ' ms, ' + sizeText(blob.size) + (isCut ? ', cut here' : '') + (response.redirected ? ', redirected to ' + response.url : '')),
    body, h('div', {class: 'actions'}, blob.size > 0 ? download : null), more.button, more.body, curlView(request),
  ];
}
