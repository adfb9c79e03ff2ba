// A schema as a list of properties that opens level by level, so that a circular one has no end and needs none.

const rowsShown = 100;

function badge(text, kind = '') {
  return h('span', {class: 'badge ' + kind}, text);
}

const hasInside = (schema) =>
  ['properties', 'patternProperties', 'items', 'prefixItems', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'contains',
    'propertyNames', 'dependentSchemas', 'contentSchema'].some((key) => {
    const value = own(schema, key);
    return key === 'items' ? isObject(value) && (hasInside(flattened(value)) || schemaFacts(flattened(value)).length > 0)
      : key === 'allOf' ? false
      : key === 'oneOf' || key === 'anyOf' ? listOf(value).some((one) => !isNull(deref(one)))
      : Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
  }) || isObject(own(schema, 'additionalProperties')) || isObject(own(schema, 'unevaluatedProperties'));

// Type, constraints and values of a schema, in a line or two; `level` is that of headings in its description.
function schemaFacts(schema, {skipsDescription = false} = {}) {
  const facts = [];
  const constraints = constraintsOf(schema);
  if (constraints.length > 0) {
    facts.push(h('p', {class: 'constraints'}, constraints.map((text) => h('code', null, text))));
  }
  const values = listOf(own(schema, 'enum'));
  if (values.length > 0) {
    facts.push(h('p', {class: 'values'}, h('span', {class: 'label'}, 'One of '),
      values.slice(0, 60).map((value) => [h('code', null, shortJson(value)), ' ']),
      values.length > 60 ? 'and ' + (values.length - 60) + ' more' : null));
  }
  for (const [key, label] of [['const', 'Always '], ['default', 'Default '], ['example', 'Example ']]) {
    const value = own(schema, key);
    if (value !== undefined && !isObject(value)) {
      facts.push(h('p', {class: 'values'}, h('span', {class: 'label'}, label), h('code', null, shortJson(value))));
    }
  }
  const examples = listOf(own(schema, 'examples')).filter((value) => !isObject(value)).slice(0, 5);
  if (examples.length > 0) {
    facts.push(h('p', {class: 'values'}, h('span', {class: 'label'}, 'Example '),
      examples.map((value) => [h('code', null, shortJson(value)), ' '])));
  }
  const description = textOf(own(schema, 'description'));
  if (description && !skipsDescription) facts.unshift(markdown(description, 6));
  const docs = own(schema, 'externalDocs');
  if (isObject(docs)) facts.push(h('p', null, externalLink(docs.url, textOf(docs.description) || textOf(docs.url))));
  return facts;
}

function schemaFlags(schema, isRequired) {
  return [
    isRequired && badge('required', 'required'),
    own(schema, 'readOnly') === true && badge('read-only'),
    own(schema, 'writeOnly') === true && badge('write-only'),
    own(schema, 'deprecated') === true && badge('deprecated', 'deprecated'),
  ];
}

// One row: a name, what it is, and a button where there is more inside.
function schemaRow(name, reference, {isRequired = false, isName = true} = {}) {
  const schema = flattened(reference);
  const head = [
    h('span', {class: isName ? 'name' : 'role'}, name), ' ',
    h('span', {class: 'type'}, typeLabel(reference)), ' ', schemaFlags(schema, isRequired),
  ];
  const row = h('li', {class: 'row'});
  if (hasInside(schema)) {
    const {button, body} = disclosure({
      label: [icon('chevron'), ...head], attributes: {class: 'row-head opens'},
      make: () => schemaInside(schema),
    });
    append(row, [button, h('div', {class: 'row-facts'}, schemaFacts(schema)), body]);
  } else {
    append(row, [h('div', {class: 'row-head'}, head), h('div', {class: 'row-facts'}, schemaFacts(schema))]);
  }
  return row;
}

// Shows the first hundred rows, and more when the reader asks for them.
function rowList(rows) {
  const list = h('ul', {class: 'rows'});
  let shown = 0;
  const more = h('button', {type: 'button', class: 'button small'});
  const item = h('li', {class: 'row'}, more);
  const showMore = () => {
    item.remove();
    const first = shown;
    for (const make of rows.slice(shown, shown + rowsShown)) list.append(make());
    shown += rowsShown;
    if (shown >= rows.length) return first;
    more.textContent = 'Show ' + Math.min(rowsShown, rows.length - shown) + ' more of ' + (rows.length - shown);
    list.append(item);
    return first;
  };
  more.addEventListener('click', () => {
    const first = showMore();
    (list.children[first]?.querySelector('button') ?? more).focus();
  });
  showMore();
  return list;
}

function schemaInside(schema) {
  const rows = [];
  const required = new Set(listOf(own(schema, 'required')));
  const known = entriesOf(own(schema, 'properties'));
  for (const [name, property] of known) {
    rows.push(() => schemaRow(name, property, {isRequired: required.has(name)}));
  }
  for (const name of required) {
    if (typeof name === 'string' && own(own(schema, 'properties'), name) === undefined) {
      rows.push(() => schemaRow(name, {}, {isRequired: true}));
    }
  }
  const add = (label, value) => {
    if (isObject(value) || value === true) rows.push(() => schemaRow(label, value, {isName: false}));
  };
  for (const [pattern, value] of entriesOf(own(schema, 'patternProperties'))) add('names that match ' + pattern, value);
  const extra = own(schema, 'additionalProperties');
  if (isObject(extra)) add(known.length > 0 ? 'any other name' : 'any name', extra);
  if (isObject(own(schema, 'unevaluatedProperties'))) add('any other name', schema.unevaluatedProperties);
  listOf(own(schema, 'prefixItems')).forEach((value, i) => add('item ' + i, value));
  const items = own(schema, 'items');
  if (isObject(items)) {
    const inner = flattened(items);
    const isPlain = rows.length === 0 && !Array.isArray(own(schema, 'oneOf')) && isObject(own(inner, 'properties'));
    if (isPlain) return [schemaFacts(inner), schemaInside(inner)];
    add(own(schema, 'prefixItems') ? 'other items' : 'items', items);
  }
  for (const [key, label] of [['oneOf', 'one of'], ['anyOf', 'any of']]) {
    const alternatives = listOf(own(schema, key)).filter((one) => !isNull(deref(one)));
    const discriminator = own(schema, 'discriminator');
    for (const one of alternatives) {
      rows.push(() => {
        const row = schemaRow(label, one, {isName: false});
        const values = entriesOf(own(discriminator, 'mapping'))
          .filter(([, target]) => target === own(one, '$ref') || target === nameOfReference(own(one, '$ref')))
          .map(([value]) => value);
        const property = textOf(own(discriminator, 'propertyName'));
        if (property && own(one, '$ref')) {
          if (values.length === 0) values.push(nameOfReference(one.$ref));
          append(row.querySelector('.row-facts'), [h('p', {class: 'values'}, h('span', {class: 'label'}, 'Where '),
            h('code', null, property), ' is ', values.map((value) => [h('code', null, shortJson(value)), ' ']))]);
        }
        return row;
      });
    }
  }
  for (const [key, label] of [['not', 'not'], ['if', 'if'], ['then', 'then'], ['else', 'else'], ['contains', 'contains'],
    ['propertyNames', 'each name'], ['contentSchema', 'content']]) {
    add(label, own(schema, key));
  }
  for (const [name, value] of entriesOf(own(schema, 'dependentSchemas'))) add('with ' + name, value);
  return rows.length > 0 ? rowList(rows) : h('p', {class: 'muted'}, 'Nothing is said about what is inside.');
}

// A schema by itself: what it is, and its first level.
function schemaView(reference) {
  const schema = flattened(reference);
  const label = typeLabel(reference);
  const flags = schemaFlags(schema, false).filter(Boolean);
  return h('div', {class: 'schema'},
    (label !== 'object' || flags.length > 0) && h('p', {class: 'schema-type'}, h('span', {class: 'type'}, label), ' ', flags),
    schemaFacts(schema), hasInside(schema) ? schemaInside(schema) : null);
}
