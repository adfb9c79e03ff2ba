// Elements are made of text alone: nothing that a document says is ever read as HTML.

const attributesOfState = new Set(['value', 'checked', 'disabled', 'hidden', 'open', 'selected']);

// h('a', {class: 'x', onclick: f, href: url}, 'text', element, null, [more])
function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) {
      element.addEventListener(key.slice(2), value);
    } else if (attributesOfState.has(key)) {
      element[key] = value;
    } else {
      element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === '') continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

const svgNamespace = 'http://www.w3.org/2000/svg';
const iconPaths = {
  chevron: 'M6 4l4 4-4 4',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4L14 14',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  moon: 'M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  link: 'M6.5 9.5l3-3M7 5l1.6-1.6a2.6 2.6 0 0 1 3.9 3.9L11 9M9 11l-1.6 1.6a2.6 2.6 0 0 1-3.9-3.9L5 7',
  send: 'M2.5 8L13.5 3l-4 10.5-2.3-4.2z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
};
function icon(name) {
  const svg = document.createElementNS(svgNamespace, 'svg');
  for (const [key, value] of [['viewBox', '0 0 16 16'], ['class', 'icon icon-' + name], ['aria-hidden', 'true']]) {
    svg.setAttribute(key, value);
  }
  const path = document.createElementNS(svgNamespace, 'path');
  path.setAttribute('d', iconPaths[name]);
  svg.append(path);
  return svg;
}

// The address, when a click on it can do no more than open a page; else undefined.
function safeUrl(text) {
  if (typeof text !== 'string' || text.length > 4000) return undefined;
  try {
    const url = new URL(text, location.href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function externalLink(url, ...children) {
  const href = safeUrl(url);
  if (href === undefined) return h('span', null, ...children);
  return h('a', {href, rel: 'noopener noreferrer nofollow', target: '_blank'}, ...children);
}

// A button that shows and hides what `make` builds the first time.
function disclosure({label, open = false, make, attributes = {}, into}) {
  const id = nextId('part');
  const body = into ?? h('div', {class: 'disclosed'});
  body.id ||= id;
  const button = h('button', {type: 'button', 'aria-controls': body.id, ...attributes}, label);
  let isMade = false;
  const show = (isOpen) => {
    if (isOpen && !isMade) {
      isMade = true;
      append(body, [make()]);
    }
    body.hidden = !isOpen;
    button.setAttribute('aria-expanded', String(isOpen));
  };
  button.addEventListener('click', () => show(body.hidden));
  show(open);
  return {button, body, show};
}

let lastId = 0;
function nextId(prefix) {
  return prefix + '-' + ++lastId;
}

const statusLine = h('p', {class: 'visually-hidden', role: 'status', 'aria-live': 'polite'});
function announce(text) {
  statusLine.textContent = text;
}

function copyButton(what, getText) {
  const label = h('span', null, 'Copy');
  return h('button', {
    type: 'button', class: 'button quiet small', 'aria-label': 'Copy ' + what,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(getText());
        label.textContent = 'Copied';
        announce('Copied ' + what);
      } catch {
        label.textContent = 'Not allowed';  // Only pages of a secure origin have a clipboard.
      }
      setTimeout(() => { label.textContent = 'Copy'; }, 1500);
    },
  }, icon('copy'), label);
}

function codeBlock(text, what) {
  const code = h('code', null, text);
  return h('div', {class: 'code'},
    h('pre', {tabindex: '0', role: 'region', 'aria-label': what}, code), copyButton(what, () => code.textContent));
}

const memory = {
  get(store, key) {
    try {
      return JSON.parse(store().getItem(key));
    } catch {
      return null;  // A browser may have no storage for the page.
    }
  },
  set(store, key, value) {
    try {
      store().setItem(key, JSON.stringify(value));
    } catch {
      // It is remembered as long as the page is open.
    }
  },
};
const ofTab = () => sessionStorage;
const ofBrowser = () => localStorage;
