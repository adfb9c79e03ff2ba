// The page as a whole: what stands where, search, addresses with a '#', and the colours.

const operationsOpenedForPrint = 100;
const groupsOpenInList = 60;

function themeButton() {
  const root = document.documentElement;
  const isDark = () => root.dataset.theme === 'dark' || (root.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches);
  const known = memory.get(ofBrowser, 'keel-docs-theme');
  if (known === 'dark' || known === 'light') root.dataset.theme = known;
  const button = h('button', {type: 'button', class: 'button quiet icon-button', 'aria-label': 'Dark mode'}, icon('moon'));
  const show = () => button.setAttribute('aria-pressed', String(isDark()));
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    memory.set(ofBrowser, 'keel-docs-theme', root.dataset.theme);
    show();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  show();
  return button;
}

function introduction(documentUrl) {
  const info = own(api, 'info') ?? {};
  const contact = own(info, 'contact');
  const license = own(info, 'license');
  const docs = own(api, 'externalDocs');
  const links = [
    h('a', {href: documentUrl}, 'The document (OpenAPI ' + textOf(own(api, 'openapi')) + ')'),
    isObject(docs) && externalLink(docs.url, textOf(docs.description) || textOf(docs.url)),
    own(info, 'termsOfService') && externalLink(info.termsOfService, 'Terms of service'),
    isObject(contact) && (contact.url ? externalLink(contact.url, textOf(contact.name) || textOf(contact.url))
      : contact.email ? externalLink('mailto:' + contact.email, textOf(contact.name) || textOf(contact.email)) : textOf(contact.name)),
    isObject(license) && (license.url ? externalLink(license.url, textOf(license.name)) : textOf(license.name)),
  ].filter(Boolean);
  return h('header', {class: 'introduction'},
    h('h1', null, textOf(own(info, 'title')) || 'API', ' ', own(info, 'version') !== undefined && h('span', {class: 'version'}, String(info.version))),
    own(info, 'summary') && h('p', {class: 'lead'}, textOf(info.summary)),
    own(info, 'description') && markdown(info.description, 2),
    h('ul', {class: 'links'}, links.map((link) => h('li', null, link))));
}

function serversView() {
  const note = h('p', {class: 'hint'});
  const variables = h('div', {class: 'fields'});
  const show = () => {
    const server = servers[serverIndex];
    const isAbroad = originOf(server.url()) !== location.origin;
    fill(note, server.description && server.description !== server.url() ? server.description + ' ' : null, h('code', null, server.url() ?? 'This is no address of HTTP'),
      isAbroad ? ' Another origin: it has to allow requests of this page, and the page has to be allowed to send them.' : null);
  };
  const use = (i) => {
    serverIndex = i;
    fill(variables, [...servers[i].variables].map(([name, variable]) => field(name, [], variable.description, (id, describedBy) => {
      const element = variable.choices.length > 0 ? selectOf(variable.choices.map((value) => [String(value), String(value)]), {id, 'aria-describedby': describedBy})
        : h('input', {id, type: 'text', 'aria-describedby': describedBy});
      element.value = variable.value;
      element.addEventListener('input', () => {
        variable.value = element.value;
        show();
      });
      return {element};
    }).element));
    show();
  };
  const id = nextId('field');
  const select = selectOf(servers.map((server, i) => [String(i), server.label]), {id, onchange: () => use(Number(select.value))});
  select.value = String(serverIndex);
  use(serverIndex);
  return h('section', {class: 'panel', 'aria-labelledby': 'server'}, h('h2', {id: 'server'}, 'Server'),
    h('label', {class: 'visually-hidden', for: id}, 'Server that requests are sent to'), select, variables, note);
}

const flowNames = {implicit: 'implicit', password: 'password', clientCredentials: 'client credentials', authorizationCode: 'authorization code'};

function schemeView(name, scheme) {
  const kind = scheme.type === 'apiKey' ? 'API key in ' + (scheme.in === 'header' ? 'the header ' : scheme.in === 'query' ? 'the query, ' : 'the cookie ') + scheme.name
    : scheme.type === 'http' ? 'HTTP ' + textOf(scheme.scheme) + (scheme.bearerFormat ? ' (' + scheme.bearerFormat + ')' : '')
    : scheme.type === 'oauth2' ? 'OAuth 2.0' : scheme.type === 'openIdConnect' ? 'OpenID Connect' : scheme.type === 'mutualTLS' ? 'TLS with a certificate of the client' : textOf(scheme.type);
  const isBasic = scheme.type === 'http' && textOf(scheme.scheme).toLowerCase() === 'basic';
  const details = [];
  for (const [flow, label] of Object.entries(flowNames)) {
    const at = own(own(scheme, 'flows'), flow);
    if (!isObject(at)) continue;
    details.push(h('p', {class: 'hint'}, 'Flow: ' + label + '. ',
      ['authorizationUrl', 'tokenUrl', 'refreshUrl'].filter((key) => own(at, key)).map((key) => [externalLink(at[key], key), ' '])),
      entriesOf(own(at, 'scopes')).length > 0 && h('ul', {class: 'scopes'}, entriesOf(at.scopes).map(([scope, text]) => h('li', null, h('code', null, scope), ' ', textOf(text)))));
  }
  if (scheme.openIdConnectUrl) details.push(h('p', {class: 'hint'}, externalLink(scheme.openIdConnectUrl, 'Its configuration')));
  const state = h('span', {class: 'verdict', role: 'status'});
  const known = credentials.get(name);
  const say = () => { state.textContent = credentials.has(name) ? 'in use' : ''; };
  const input = (label, attributes) => field(label, [], null, (id, describedBy) => ({element: h('input', {id, 'aria-describedby': describedBy, autocomplete: 'off', spellcheck: 'false', ...attributes})}));
  const user = isBasic ? input('User', {type: 'text', value: known?.user ?? ''}) : null;
  const secret = input(isBasic ? 'Password' : scheme.type === 'apiKey' ? 'Key' : 'Token', {type: 'password', value: known?.value ?? ''});
  say();
  credentialsChanged.addEventListener('change', say);
  return h('form', {class: 'scheme', 'aria-label': 'Authentication ' + name, onsubmit: (event) => {
    event.preventDefault();
    const value = secret.input.value.trim();
    setCredential(name, value === '' && !user?.input.value ? null : {value, ...(user ? {user: user.input.value} : {})});
  }},
    h('h3', null, name, ' ', h('span', {class: 'type'}, kind), ' ', state),
    own(scheme, 'description') && markdown(scheme.description, 4), details,
    scheme.type !== 'mutualTLS' && [h('div', {class: 'fields'}, user?.element ?? null, secret.element),
      h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'button primary'}, 'Use'),
        h('button', {type: 'button', class: 'button', onclick: () => {
          secret.input.value = '';
          if (user) user.input.value = '';
          setCredential(name, null);
        }}, 'Forget'))]);
}

function authenticationView() {
  const schemes = entriesOf(own(own(api, 'components'), 'securitySchemes'));
  if (schemes.length === 0) return null;
  const summary = h('span', {class: 'verdict'});
  const say = () => { summary.textContent = credentials.size > 0 ? credentials.size + ' in use' : ''; };
  say();
  credentialsChanged.addEventListener('change', say);
  const {button, body, show} = disclosure({
    label: [icon('lock'), 'Authentication ', summary, icon('chevron')], attributes: {class: 'panel-head opens'},
    make: () => [h('p', {class: 'hint'}, 'It stays in this tab, and is sent with each request that you try.'),
      schemes.map(([name, scheme]) => schemeView(name, deref(scheme)))],
  });
  const section = h('section', {class: 'panel', id: 'authentication', tabindex: '-1'}, h('h2', null, button), body);
  section.open = () => show(true);
  return section;
}

function schemasView() {
  const schemas = entriesOf(own(own(api, 'components'), 'schemas'));
  if (schemas.length === 0) return null;
  return h('section', {class: 'group', id: 'schemas'}, h('h2', null, 'Schemas'), rowList(schemas.map(([name, schema]) => () => {
    const {button, body, show} = disclosure({
      label: [icon('chevron'), h('span', {class: 'name'}, name), ' ', h('span', {class: 'type'}, typeLabel(schema))], attributes: {class: 'row-head opens'},
      make: () => schemaView(schema),
    });
    const row = h('li', {class: 'row', id: 'schema/' + name}, button, body);
    row.open = () => show(true);
    return row;
  })));
}

// The list at the side, and what search does to it and to the page.
function navigation(groups, sections) {
  const groupCount = groups.reduce((count, group) => count + group.operations.length, 0);
  const parts = groups.map((group) => {
    const list = h('ul');
    let isMade = false;
    const make = () => {
      if (isMade) return;
      isMade = true;
      append(list, group.operations.map((entry) => {
        const item = h('li', null, h('a', {href: '#' + encodeURIComponent(entry.id), class: own(entry.operation, 'deprecated') === true ? 'is-deprecated' : null},
          methodBadge(entry.method), h('span', {class: 'nav-text'}, textOf(own(entry.operation, 'summary')) || entry.path)));
        entry.items = [...(entry.items ?? []), item];
        return item;
      }));
    };
    const {button, body, show} = disclosure({
      label: [icon('chevron'), group.name], attributes: {class: 'nav-head opens'}, into: h('div', null, list),
      open: groupCount <= groupsOpenInList, make: () => { make(); return null; },
    });
    return {group, element: h('li', null, button, body), show, make, wasOpen: () => button.getAttribute('aria-expanded') === 'true'};
  });
  const input = h('input', {type: 'search', id: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Search operations', 'aria-keyshortcuts': '/'});
  const nothing = h('p', {class: 'muted nothing', hidden: true}, 'No operation has these words.');
  let openBefore = null;
  const haystacks = new Map();
  const haystackOf = (entry) => {
    if (!haystacks.has(entry)) {
      haystacks.set(entry, [entry.method, entry.path, entry.id, textOf(own(entry.operation, 'summary')), ...entry.tags].join(' ').toLowerCase());
    }
    return haystacks.get(entry);
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    if (words.length > 0) openBefore ??= parts.map((part) => part.wasOpen());
    parts.forEach((part, i) => {
      let isShown = false;
      if (words.length > 0) part.make();
      for (const entry of part.group.operations) {
        const isFound = words.every((word) => haystackOf(entry).includes(word));
        if (isFound) ++count;
        isShown ||= isFound;
        for (const item of entry.items ?? []) item.hidden = !isFound;
        for (const {card} of entry.cards ?? []) card.hidden = !isFound;
      }
      part.element.hidden = !isShown;
      sections[i].hidden = !isShown;
      if (words.length > 0) part.show(isShown);
      else if (openBefore) part.show(openBefore[i]);
    });
    if (words.length === 0) openBefore = null;
    nothing.hidden = count > 0;
    announce(words.length === 0 ? '' : count + (count === 1 ? ' operation' : ' operations'));
  };
  let due = 0;
  input.addEventListener('input', () => {
    clearTimeout(due);
    due = setTimeout(search, groupCount > 300 ? 120 : 0);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && input.value !== '') {
      event.preventDefault();
      input.value = '';
      search();
    } else if (event.key === 'Enter') {
      clearTimeout(due);
      search();
      const first = parts.flatMap((part) => part.group.operations).find((entry) => entry.items?.some((item) => !item.hidden));
      event.preventDefault();  // Else the button that has the focus then is pressed by the same key.
      if (first && input.value.trim() !== '') openOperation(first);
    }
  });
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    showMenu(true);
    input.focus();
    input.select();
  });
  return h('nav', {id: 'navigation', class: 'navigation', 'aria-label': 'Operations'},
    h('div', {class: 'search'}, icon('search'), input, h('kbd', {'aria-hidden': 'true'}, '/')), nothing,
    h('ul', {class: 'nav-groups'}, parts.map((part) => part.element),
      entriesOf(own(own(api, 'components'), 'schemas')).length > 0 && h('li', null, h('a', {href: '#schemas', class: 'nav-head'}, 'Schemas'))));
}

// On a narrow page, where the list covers the rest.
function showMenu(isOpen) {
  document.body.classList.toggle('has-menu', isOpen);
  document.querySelector('.bar .menu')?.setAttribute('aria-expanded', String(isOpen));
}

function openOperation(entry) {
  showMenu(false);
  const [first] = entry.cards;
  first.show(true);
  history.replaceState(null, '', '#' + encodeURIComponent(entry.id));
  first.card.scrollIntoView();
  requestAnimationFrame(() => first.card.scrollIntoView());  // What was off the screen has its height now.
  first.button.focus({preventScroll: true});
}

function followHash(operations) {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // It is taken as it is.
  }
  showMenu(false);
  const entry = operations.find((one) => one.id === name);
  if (entry) return openOperation(entry);
  const target = name === '' ? null : document.getElementById(name);
  target?.open?.();
  target?.scrollIntoView();
  target?.querySelector('button')?.focus({preventScroll: true});
}

function show(document_, documentUrl) {
  setDocument(document_);
  readServers(documentUrl);
  const operations = operationsOf(api);
  const groups = groupsOf(api, operations);
  document.title = textOf(own(own(api, 'info'), 'title')) || 'API documentation';
  const used = new Set();
  const sections = groups.map((group) => h('section', {class: 'group', id: 'tag/' + group.name},
    h('h2', null, group.name), own(group, 'description') && markdown(group.description, 3),
    isObject(group.externalDocs) && h('p', null, externalLink(group.externalDocs.url, textOf(group.externalDocs.description) || textOf(group.externalDocs.url))),
    group.operations.map((entry) => {
      const id = used.has(entry.id) ? nextId('again') : 'operation/' + entry.id;
      used.add(entry.id);
      return operationCard(entry, id);
    })));
  const menu = h('button', {type: 'button', class: 'button quiet icon-button menu', 'aria-label': 'Menu', 'aria-controls': 'navigation', 'aria-expanded': 'false',
    onclick: () => showMenu(!document.body.classList.contains('has-menu'))}, icon('menu'));
  const authentication = authenticationView();
  const main = h('main', {id: 'content', tabindex: '-1'}, introduction(documentUrl), h('div', {class: 'panels'}, serversView(), authentication),
    sections, operations.length === 0 && h('p', {class: 'muted'}, 'The document has no operation.'), schemasView());
  const app = document.getElementById('app');
  fill(app, h('a', {class: 'skip', href: '#content', onclick: (event) => {
    event.preventDefault();
    main.focus();
  }}, 'Skip to the content'),
    h('div', {class: 'bar', role: 'banner'}, menu, h('a', {class: 'brand', href: '#content', onclick: () => scrollTo(0, 0)}, document.title), themeButton()),
    h('div', {class: 'layout'}, navigation(groups, sections), main), statusLine);
  addEventListener('hashchange', () => followHash(operations));
  // A link to the authentication opens it, also when it is the address already.
  app.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a[href="#authentication"]') && authentication) {
      event.preventDefault();
      authentication.open();
      authentication.scrollIntoView();
      authentication.querySelector('input')?.focus({preventScroll: true});
    }
  });
  addEventListener('beforeprint', () => {
    if (operations.length > operationsOpenedForPrint) return;
    for (const entry of operations) for (const {show: open} of entry.cards ?? []) open(true);
  });
  if (location.hash !== '') followHash(operations);
}

async function begin() {
  const app = document.getElementById('app');
  const url = new URL(document.documentElement.dataset.document, location.href);
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error('status ' + response.status);
    show(await response.json(), url.href);
  } catch (error) {
    console.error(error);
    fill(app, h('main', null, h('h1', null, 'The document cannot be shown'), h('p', {class: 'loading', role: 'alert'}, url.href + ': ' + error.message)));
  }
}
begin();
