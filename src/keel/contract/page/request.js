// What is filled in becomes a request, and the request a command line. Source: OpenAPI 3.1 §4.8.12, RFC 6570.

const unreserved = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
// Without '#' and what is no character of a query.
const reserved = (text) => encodeURI(text).replace(/#/g, '%23').replace(/%5B/g, '[').replace(/%5D/g, ']');

// The pairs of an object; one for each element of a list in it.
const pairsOf = (value) => Object.entries(value).flatMap(([key, one]) => (Array.isArray(one) ? one : [one]).map((part) => [key, part]));

const valueText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

function styleOf(parameter) {
  const style = textOf(own(parameter, 'style')) || {path: 'simple', query: 'form', header: 'simple', cookie: 'form'}[parameter.in];
  const explode = own(parameter, 'explode');
  return {style, explode: typeof explode === 'boolean' ? explode : style === 'form'};
}

// The value of a parameter as it stands in a path, a query, a field or a cookie; query and cookie: with its name.
function serialized(parameter, value) {
  const encode = parameter.in === 'header' ? String : own(parameter, 'allowReserved') === true ? reserved : unreserved;
  const name = parameter.in === 'header' ? parameter.name : unreserved(parameter.name);
  const isNamed = parameter.in === 'query' || parameter.in === 'cookie';
  if (own(parameter, 'content') !== undefined) return (isNamed ? name + '=' : '') + encode(valueText(value));
  const {style, explode} = styleOf(parameter);
  // In a header there are no escapes: a part with a comma, and what could be read as a quoted-string, is quoted (RFC 9110 §5.6.4).
  const part = (one) => {
    const text = encode(valueText(one));
    return parameter.in === 'header' && /^$|^[\s"<]|\s$|,|="/.test(text) ? '"' + text.replace(/["\\]/g, '\\$&') + '"' : text;
  };
  const pairs = isObject(value) ? pairsOf(value).map(([key, one]) => [encode(key), part(one)]) : null;
  const list = Array.isArray(value) ? value.map(part) : null;
  const flat = (separator) => (list ?? pairs.flat()).join(separator);
  const single = pairs === null && list === null;
  const text = single ? encode(valueText(value)) : '';
  switch (style) {
    case 'deepObject':
      if (pairs) return pairs.map(([key, one]) => name + '[' + key + ']=' + one).join('&');
      break;
    case 'spaceDelimited':
      if (!single) return name + '=' + flat('%20');
      break;
    case 'pipeDelimited':
      if (!single) return name + '=' + flat('%7C');
      break;
    case 'label':
      if (pairs && explode) return '.' + pairs.map((pair) => pair.join('=')).join('.');
      return '.' + (single ? text : flat(explode ? '.' : ','));
    case 'matrix':
      if (pairs && explode) return ';' + pairs.map((pair) => pair.join('=')).join(';');
      if (list && explode) return list.map((one) => ';' + name + '=' + one).join('');
      return ';' + name + '=' + (single ? text : flat(','));
    default:
      break;
  }
  if (!isNamed) {
    if (single) return text;
    return pairs && explode ? pairs.map((pair) => pair.join('=')).join(',') : flat(',');
  }
  if (single) return name + '=' + text;
  if (!explode) return name + '=' + flat(',');
  return list ? list.map((one) => name + '=' + one).join('&') : pairs.map((pair) => pair.join('=')).join('&');
}

// --- Servers.

let servers = [];  // {label, description, variables, url(): string}
let serverIndex = 0;
let documentBase = '';

// {label, description, variables, url()}; url() gives null when it is no address of HTTP.
function serverOf(server) {
  const variables = new Map(entriesOf(own(server, 'variables')).map(([name, variable]) =>
    [name, {value: String(own(variable, 'default') ?? ''), choices: listOf(own(variable, 'enum')), description: textOf(own(variable, 'description'))}]));
  const filled = () => server.url.replace(/\{([^{}]*)\}/g, (all, name) => variables.get(name)?.value ?? all);
  return {
    label: server.url, description: textOf(own(server, 'description')), variables,
    url: () => {
      try {
        const url = new URL(filled(), documentBase);
        return ['http:', 'https:'].includes(url.protocol) ? url.href.replace(/[?#].*$/, '').replace(/\/+$/, '') : null;
      } catch {
        return null;
      }
    },
  };
}
const isServer = (server) => typeof own(server, 'url') === 'string';

// The first of the operation or of its path stands for the one that is chosen.
function serverUrl(entry) {
  const first = listOf(own(entry.operation, 'servers') ?? own(entry.item, 'servers')).find(isServer);
  return (first ? serverOf(first) : servers[serverIndex]).url() ?? '';
}

// Those of the document; where none of them is this service, the folder of the document is one as well, with the path
// below which the service has its operations.
function readServers(documentUrl) {
  documentBase = documentUrl;
  const here = new URL('.', documentUrl);
  const address = here.href.replace(/\/+$/, '') + (document.documentElement.dataset.base ?? '');
  servers = listOf(own(api, 'servers')).filter(isServer).map(serverOf);
  const isHere = (server) => server.url() !== null && new URL(server.url()).origin === here.origin;
  if (!servers.some(isHere)) {
    servers.unshift({
      label: 'This service', description: address, variables: new Map(), url: () => address,
    });
  }
  serverIndex = Math.max(0, servers.findIndex(isHere));
}

// --- Authentication: what a user has given for each scheme. It stays in the tab.

// Two documents of one origin may have schemes of one name.
const credentialsKey = 'keel-docs-credentials ' + new URL(document.documentElement.dataset.document, location.href).pathname;
const credentials = new Map(Object.entries(memory.get(ofTab, credentialsKey) ?? {}));
const credentialsChanged = new EventTarget();

function setCredential(name, value) {
  if (value === null) credentials.delete(name);
  else credentials.set(name, value);
  memory.set(ofTab, credentialsKey, Object.fromEntries(credentials));
  credentialsChanged.dispatchEvent(new Event('change'));
}

const securityOf = (operation) => listOf(own(operation, 'security') ?? own(api, 'security')).filter(isObject);

function base64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

// Adds what the first alternative needs for which everything was given.
function authorize(request, operation) {
  const schemes = own(own(api, 'components'), 'securitySchemes');
  for (const alternative of securityOf(operation)) {
    const names = Object.keys(alternative);
    if (names.length === 0 || !names.every((name) => credentials.has(name))) continue;
    for (const name of names) {
      const scheme = deref(own(schemes, name));
      const given = credentials.get(name);
      if (scheme.type === 'apiKey') {
        if (scheme.in === 'query') request.query.push(unreserved(scheme.name) + '=' + unreserved(given.value));
        else if (scheme.in === 'cookie') request.cookies.push(unreserved(scheme.name) + '=' + unreserved(given.value));
        else request.headers.push([scheme.name, given.value]);
      } else if (scheme.type === 'http' && textOf(scheme.scheme).toLowerCase() === 'basic') {
        request.headers.push(['Authorization', 'Basic ' + base64(given.user + ':' + given.value)]);
      } else if (scheme.type === 'http' && textOf(scheme.scheme).toLowerCase() !== 'bearer') {
        request.headers.push(['Authorization', textOf(scheme.scheme) + ' ' + given.value]);
      } else if (scheme.type !== 'mutualTLS') {
        request.headers.push(['Authorization', 'Bearer ' + given.value]);
      }
    }
    return;
  }
}

// --- The request.

// `values`: of parameters, [[parameter, value]]; `body`: {type, text | fields: [[name, value | File]] | file}, or null.
function makeRequest(entry, values, body) {
  const request = {method: entry.method.toUpperCase(), query: [], headers: [], cookies: [], body: null, form: null};
  let path = entry.path;
  for (const [parameter, value] of values) {
    const text = serialized(parameter, value);
    if (parameter.in === 'path') path = path.replaceAll('{' + parameter.name + '}', () => text);
    else if (parameter.in === 'query') request.query.push(text);
    else if (parameter.in === 'cookie') request.cookies.push(text);
    else request.headers.push([parameter.name, text]);
  }
  authorize(request, entry.operation);
  if (body !== null) {
    if (body.fields && body.type.startsWith('multipart/')) {
      request.form = body.fields;
    } else if (body.fields) {
      request.body = body.fields.map(([name, value]) => new URLSearchParams([[name, value]]).toString()).join('&');
      request.headers.push(['Content-Type', body.type]);
    } else {
      request.body = body.file ?? body.text;
      request.headers.push(['Content-Type', body.type]);
    }
  }
  request.url = serverUrl(entry) + path + (request.query.length > 0 ? '?' + request.query.filter(Boolean).join('&') : '');
  return request;
}

const shellQuoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");

function curlOf(request) {
  const parts = ['curl'];
  const sends = request.body !== null || request.form !== null;
  if (request.method === 'HEAD') parts.push('--head');
  else if (request.method !== (sends ? 'POST' : 'GET')) parts.push('-X ' + request.method);
  parts.push(shellQuoted(request.url));
  for (const [name, value] of request.headers) parts.push('-H ' + shellQuoted(name + ': ' + value));
  if (request.cookies.length > 0) parts.push('-b ' + shellQuoted(request.cookies.join('; ')));
  for (const [name, value] of request.form ?? []) {
    parts.push(value instanceof File ? '-F ' + shellQuoted(name + '=@' + value.name) : '--form-string ' + shellQuoted(name + '=' + value));
  }
  if (request.body instanceof File) parts.push('--data-binary ' + shellQuoted('@' + request.body.name));
  else if (request.body !== null) parts.push('--data-raw ' + shellQuoted(request.body));
  const [command, ...rest] = parts;
  return command + ' ' + rest.join(' \\\n  ');
}

const bodyBytesMax = 20 << 20;

// {response, blob, time, isCut}; `show` is told of text while it arrives, which a stream of events needs.
async function send(request, signal, show) {
  let body = request.body;
  if (request.form) {
    body = new FormData();
    for (const [name, value] of request.form) body.append(name, value);
  }
  const before = document.cookie;
  const isHere = new URL(request.url, location.href).origin === location.origin;
  if (isHere) for (const cookie of request.cookies) document.cookie = cookie + '; path=/; SameSite=Strict';
  const start = performance.now();
  try {
    const response = await fetch(request.url, {
      method: request.method, headers: request.headers, body: body ?? undefined, signal,
      credentials: 'same-origin', cache: 'no-store',
    });
    const chunks = [];
    let bytes = 0;
    let isCut = false;
    const isText = /^text\/|json|xml/.test(response.headers.get('content-type') ?? '');
    const decoder = new TextDecoder();
    let text = '';
    const reader = response.body?.getReader();
    while (reader) {
      const {done, value} = await reader.read().catch((error) => {
        if (signal.aborted) return {done: true, value: null};
        throw error;
      });
      if (done) break;
      chunks.push(value);
      bytes += value.length;
      if (bytes > bodyBytesMax) {
        isCut = true;
        await reader.cancel();
        break;
      }
      if (isText && text.length < 200000) {
        text += decoder.decode(value, {stream: true});
        show(response, text);
      }
    }
    const type = response.headers.get('content-type') ?? '';
    return {response, blob: new Blob(chunks, {type}), time: performance.now() - start, isCut};
  } finally {
    if (isHere) {
      const known = new Map(before.split('; ').map((cookie) => [cookie.split('=')[0], cookie]));
      for (const cookie of request.cookies) {
        const name = cookie.split('=')[0];
        document.cookie = known.has(name) ? known.get(name) + '; path=/' : name + '=; path=/; max-age=0; SameSite=Strict';
      }
    }
  }
}

const sizeText = (bytes) => (bytes < 1024 ? bytes + ' B' : bytes < 1 << 20 ? (bytes / 1024).toFixed(1) + ' KiB' : (bytes / (1 << 20)).toFixed(1) + ' MiB');
