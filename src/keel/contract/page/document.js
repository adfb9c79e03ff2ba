// What the document says. Names in it may be anything, "__proto__" too: members are asked for with own().

let api = {};
let isVersion30 = false;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (object, name) => (isObject(object) || Array.isArray(object)) && Object.hasOwn(object, name) ? object[name] : undefined;
const listOf = (value) => (Array.isArray(value) ? value : []);
const entriesOf = (value) => (isObject(value) ? Object.entries(value) : []);
const textOf = (value) => (typeof value === 'string' ? value : '');
const countOf = (value) => (Number.isFinite(value) ? value : undefined);

function setDocument(document) {
  api = document;
  isVersion30 = textOf(own(api, 'openapi')).startsWith('3.0');
}

// Where a reference inside this document leads; undefined: nowhere.
function atPointer(reference) {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let at = api;
  for (const part of reference.slice(1).split('/').slice(1)) {
    let key = part;
    try {
      key = decodeURIComponent(part);
    } catch {
      // It is taken as it is.
    }
    at = own(at, key.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return at;
}

const nameOfReference = (reference) => textOf(reference).split('/').pop().replaceAll('~1', '/').replaceAll('~0', '~');

// {value, name}: what stands behind references, with what stands beside them; the name is that of the last.
function resolve(value) {
  let name = '';
  const beside = [];
  for (let hops = 0; isObject(value) && typeof own(value, '$ref') === 'string'; ++hops) {
    if (hops > 32) return {value: {}, name, isBroken: true};
    const {$ref: reference, ...rest} = value;
    if (!isVersion30 && Object.keys(rest).length > 0) beside.push(rest);
    name = nameOfReference(reference);
    value = atPointer(reference);
    if (value === undefined) return {value: {description: 'The reference ' + reference + ' leads nowhere.'}, name, isBroken: true};
  }
  while (beside.length > 0 && isObject(value)) value = {...value, ...beside.pop()};
  return {value: value ?? {}, name};
}
const deref = (value) => resolve(value).value;

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

function slug(text) {
  return text.replace(/[^A-Za-z0-9_.~-]+/g, '-').replace(/^-+|-+$/g, '');
}

// [{id, method, path, item, operation, tags, isWebhook}], in the order of the document.
function operationsOf(document) {
  const all = [];
  const ids = new Set();
  for (const [section, isWebhook] of [['paths', false], ['webhooks', true]]) {
    for (const [path, reference] of entriesOf(own(document, section))) {
      if (path.startsWith('x-')) continue;
      const item = deref(reference);
      for (const method of methods) {
        const operation = own(item, method);
        if (!isObject(operation)) continue;
        let id = textOf(own(operation, 'operationId')) || slug(method + '-' + path);
        while (ids.has(id)) id += '-';
        ids.add(id);
        const tags = listOf(own(operation, 'tags')).filter((tag) => typeof tag === 'string');
        all.push({id, method, path, item, operation, isWebhook, tags: isWebhook ? ['Webhooks'] : tags});
      }
    }
  }
  return all;
}

// [{name, description, externalDocs, operations}]: the tags in their order, then those that are not declared.
function groupsOf(document, operations) {
  const groups = new Map();
  for (const tag of listOf(own(document, 'tags'))) {
    const name = textOf(own(tag, 'name'));
    if (name) groups.set(name, {name, description: own(tag, 'description'), externalDocs: own(tag, 'externalDocs'), operations: []});
  }
  for (const operation of operations) {
    for (const name of operation.tags.length > 0 ? operation.tags : ['Operations']) {
      if (!groups.has(name)) groups.set(name, {name, operations: []});
      groups.get(name).operations.push(operation);
    }
  }
  return [...groups.values()].filter((group) => group.operations.length > 0);
}

// Those of the operation stand for those of its path.
function parametersOf({item, operation}) {
  const all = new Map();
  for (const reference of [...listOf(own(item, 'parameters')), ...listOf(own(operation, 'parameters'))]) {
    const parameter = deref(reference);
    if (typeof own(parameter, 'name') === 'string') all.set(parameter.in + ' ' + parameter.name, parameter);
  }
  const order = ['path', 'query', 'header', 'cookie'];
  return [...all.values()].sort((a, b) => order.indexOf(a.in) - order.indexOf(b.in));
}

// --- Schemas.

function typesOf(schema) {
  const type = own(schema, 'type');
  const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string');
  if (own(schema, 'nullable') === true && !types.includes('null')) types.push('null');
  return types;
}

const isNull = (schema) => isObject(schema) && own(schema, 'type') === 'null';

function allowsText(reference, budget = {left: 500}) {
  if (--budget.left < 0) return true;
  const schema = flattened(reference);
  const types = typesOf(schema);
  if (types.length > 0) return types.includes('string');
  const values = own(schema, 'const') !== undefined ? [own(schema, 'const')] : listOf(own(schema, 'enum'));
  if (values.length > 0) return values.some((value) => typeof value === 'string');
  if (['properties', 'additionalProperties', 'patternProperties', 'items', 'prefixItems'].some((key) => own(schema, key) !== undefined)) return false;
  const alternatives = [...listOf(own(schema, 'oneOf')), ...listOf(own(schema, 'anyOf'))];
  return alternatives.length === 0 || alternatives.some((one) => allowsText(one, budget));
}

// Services read and write JSON where any type is declared, and the schema allows no text.
function isJsonContent(type, media) {
  if (/[/+]json/.test(type)) return true;
  return /^(\*|application)\/\*/.test(type) && own(media, 'schema') !== undefined && !allowsText(media.schema);
}

// "array of Pet or null": what a value is, in a few words.
function typeLabel(reference, depth = 0) {
  if (reference === true || (isObject(reference) && Object.keys(reference).length === 0)) return 'any';
  if (reference === false) return 'nothing';
  const {value: schema, name} = resolve(reference);
  if (!isObject(schema)) return 'any';
  const types = typesOf(schema);
  const orNull = types.includes('null') && types.length > 1 ? ' or null' : '';
  const label = (type) => {
    if (type === 'array') {
      return 'array' + (own(schema, 'items') !== undefined && depth < 4 ? ' of ' + typeLabel(schema.items, depth + 1) : '');
    }
    const format = textOf(own(schema, 'format'));
    return type + (format ? ' <' + format + '>' : '');
  };
  if (name && !types.some((type) => type !== 'object' && type !== 'null')) return name + orNull;
  const named = types.filter((type) => type !== 'null' || types.length === 1).map(label);
  if (named.length > 0) return named.join(' or ') + orNull;
  for (const key of ['oneOf', 'anyOf']) {
    const alternatives = listOf(own(schema, key));
    if (alternatives.length === 0) continue;
    const labels = alternatives.slice(0, 4).map((one) => (depth < 4 ? typeLabel(one, depth + 1) : '…'));
    if (alternatives.length > 4) labels.push('…');
    return [...new Set(labels)].join(' or ');
  }
  if (own(schema, 'const') !== undefined) return 'constant';
  if (own(schema, 'enum') !== undefined) return 'enum';
  const parts = listOf(own(schema, 'allOf'));
  if (parts.length === 1 && depth < 4) return typeLabel(parts[0], depth + 1);
  if (parts.length > 0 || own(schema, 'properties') || own(schema, 'additionalProperties')) return 'object';
  if (own(schema, 'items')) return label('array');
  return name || 'any';
}

// allOf merged, for what is shown: the properties of all parts, and what is required by any.
function flattened(reference, budget = {left: 2000}, depth = 0) {
  const schema = deref(reference);
  if (!isObject(schema)) return {};
  const parts = listOf(own(schema, 'allOf'));
  if (parts.length === 0 || depth > 12) return schema;
  budget.left -= parts.length;  // A circle of many parts would have no end.
  if (budget.left < 0) return schema;
  const {allOf, ...rest} = schema;
  let properties = [];
  const required = new Set();
  let merged = {};
  for (const part of [...parts.map((one) => flattened(one, budget, depth + 1)), rest]) {
    const {properties: ofPart, required: requiredOfPart, description, ...others} = part;
    properties = properties.concat(entriesOf(ofPart));
    listOf(requiredOfPart).forEach((name) => required.add(name));
    merged = {...merged, ...others};
  }
  // fromEntries() makes own members, of any name.
  if (properties.length > 0) merged.properties = Object.fromEntries(properties);
  if (required.size > 0) merged.required = [...required];
  if (own(rest, 'description') !== undefined) merged.description = rest.description;
  return merged;
}

const shortJson = (value, length = 80) => {
  const text = JSON.stringify(value) ?? '';
  return text.length > length ? text.slice(0, length - 1) + '…' : text;
};

// "1 to 100", "at most 20 characters": what a value has to keep to.
function constraintsOf(schema) {
  const all = [];
  const range = (low, high, unit, units = unit + 's') => {
    if (low === undefined && high === undefined) return;
    const of = (n) => n + ' ' + (n === 1 ? unit : units);
    if (low === high) all.push(of(low));
    else if (high === undefined) all.push('at least ' + of(low));
    else if (low === undefined || low === 0) all.push('at most ' + of(high));
    else all.push(low + ' to ' + of(high));
  };
  const number = (name) => countOf(own(schema, name));
  const minimum = number('minimum');
  const maximum = number('maximum');
  const isAbove = own(schema, 'exclusiveMinimum') === true;  // OpenAPI 3.0.
  const isBelow = own(schema, 'exclusiveMaximum') === true;
  if (minimum !== undefined && maximum !== undefined && !isAbove && !isBelow) {
    all.push(minimum + ' to ' + maximum);
  } else {
    if (minimum !== undefined) all.push((isAbove ? '> ' : '≥ ') + minimum);
    if (maximum !== undefined) all.push((isBelow ? '< ' : '≤ ') + maximum);
  }
  if (number('exclusiveMinimum') !== undefined) all.push('> ' + schema.exclusiveMinimum);
  if (number('exclusiveMaximum') !== undefined) all.push('< ' + schema.exclusiveMaximum);
  if (number('multipleOf') !== undefined) all.push('a multiple of ' + schema.multipleOf);
  range(number('minLength'), number('maxLength'), 'character');
  range(number('minItems'), number('maxItems'), 'item');
  range(number('minProperties'), number('maxProperties'), 'property', 'properties');
  range(number('minContains'), number('maxContains'), 'match', 'matches');
  if (own(schema, 'uniqueItems') === true) all.push('no item twice');
  if (typeof own(schema, 'pattern') === 'string') all.push('matches ' + schema.pattern);
  if (typeof own(schema, 'contentMediaType') === 'string') all.push('contains ' + schema.contentMediaType);
  if (typeof own(schema, 'contentEncoding') === 'string') all.push('encoded as ' + schema.contentEncoding);
  const isClosed = own(schema, 'additionalProperties') === false || own(schema, 'unevaluatedProperties') === false;
  if (isClosed) all.push('no other properties');
  for (const [name, others] of entriesOf(own(schema, 'dependentRequired'))) {
    all.push('with ' + name + ' also ' + listOf(others).join(', '));
  }
  return all;
}

const formatExamples = new Map(Object.entries({
  'date-time': '2026-01-31T12:00:00Z', date: '2026-01-31', time: '12:00:00Z', duration: 'PT1H', email: 'ada@example.com',
  'idn-email': 'ada@example.com', hostname: 'example.com', ipv4: '192.0.2.1', ipv6: '2001:db8::1',
  uri: 'https://example.com/', 'uri-reference': '/path', iri: 'https://example.com/', byte: 'a2VlbA==', base64: 'a2VlbA==',
  uuid: '3fa85f64-5717-4562-b3fc-2c963f66afa6', password: 'secret', 'json-pointer': '/name', regex: '^a+$', binary: '',
}));

// A value that the schema may allow. `isRequest`: without what is only read; else without what is only written.
function exampleOf(reference, isRequest, state = {left: 2000, above: []}) {
  if (--state.left < 0 || state.above.length > 10) return null;
  const identity = own(reference, '$ref') ?? reference;
  if (state.above.includes(identity)) return undefined;  // Inside itself.
  const inner = {above: [...state.above, identity], get left() { return state.left; }, set left(n) { state.left = n; }};
  const schema = flattened(reference);
  if (own(schema, 'example') !== undefined) return schema.example;
  if (listOf(own(schema, 'examples')).length > 0) return schema.examples[0];
  if (own(schema, 'const') !== undefined) return schema.const;
  if (own(schema, 'default') !== undefined) return schema.default;
  if (listOf(own(schema, 'enum')).length > 0) return schema.enum[0];
  for (const key of ['oneOf', 'anyOf']) {
    const first = listOf(own(schema, key)).find((one) => !isNull(deref(one)));
    if (first === undefined) continue;
    const value = exampleOf(first, isRequest, inner);
    return isObject(value) && own(schema, 'properties') ? {...objectExample(schema, isRequest, inner), ...value} : value;
  }
  const type = typesOf(schema).find((one) => one !== 'null') ?? typesOf(schema)[0] ??
    (own(schema, 'properties') || own(schema, 'additionalProperties') ? 'object' : own(schema, 'items') ? 'array' : undefined);
  switch (type) {
    case 'object':
      return objectExample(schema, isRequest, inner);
    case 'array': {
      const prefix = listOf(own(schema, 'prefixItems')).map((one) => exampleOf(one, isRequest, inner) ?? null);
      if (prefix.length > 0) return prefix;
      const item = isObject(own(schema, 'items')) ? exampleOf(schema.items, isRequest, inner) : 'item';
      return item === undefined ? [] : [item];
    }
    case 'string': {
      const text = formatExamples.get(own(schema, 'format')) ?? 'string';
      const least = Math.min(countOf(own(schema, 'minLength')) ?? 0, 1000);
      const most = countOf(own(schema, 'maxLength')) ?? text.length;
      return text.padEnd(least, 'a').slice(0, Math.max(least, most));
    }
    case 'integer':
    case 'number': {
      const step = type === 'integer' ? 1 : 0.5;
      let value = countOf(own(schema, 'minimum')) ?? 0;
      if (own(schema, 'exclusiveMinimum') === true) value += step;
      if (countOf(schema.exclusiveMinimum) !== undefined) value = Math.max(value, schema.exclusiveMinimum + step);
      const most = countOf(own(schema, 'maximum')) ?? countOf(own(schema, 'exclusiveMaximum'));
      if (most !== undefined && value > most) value = most;
      const multiple = countOf(own(schema, 'multipleOf'));
      return multiple > 0 ? Math.ceil(value / multiple) * multiple : value;
    }
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return reference === false ? undefined : type === undefined ? {} : null;
  }
}

function objectExample(schema, isRequest, state) {
  const members = [];
  for (const [name, reference] of entriesOf(own(schema, 'properties')).slice(0, 200)) {
    const property = deref(reference);
    if (own(property, isRequest ? 'readOnly' : 'writeOnly') === true) continue;
    const value = exampleOf(reference, isRequest, state);
    if (value !== undefined) members.push([name, value]);
  }
  const more = own(schema, 'additionalProperties');
  if (members.length === 0 && isObject(more)) {
    const value = exampleOf(more, isRequest, state);
    if (value !== undefined) members.push(['key', value]);
  }
  return Object.fromEntries(members);
}

// [{name, summary, value}] of a parameter or a media type, those that are written first.
function examplesOf(media, isRequest) {
  const all = [];
  if (own(media, 'example') !== undefined) all.push({name: 'Example', value: media.example});
  for (const [name, reference] of entriesOf(own(media, 'examples'))) {
    const example = deref(reference);
    const value = own(example, 'value') ?? own(example, 'externalValue');
    if (value !== undefined) all.push({name, summary: textOf(own(example, 'summary')), value});
  }
  if (all.length === 0 && own(media, 'schema') !== undefined) {
    all.push({name: 'Example', value: exampleOf(media.schema, isRequest), isMade: true});
  }
  return all;
}
