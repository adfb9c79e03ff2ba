// A subset of CommonMark, as elements: paragraphs, headings, lists, quotes, code, tables, links, emphasis. HTML is shown
// as it is written. An image is a link to it: the page loads nothing from other hosts.

const markdownLengthMax = 200000;
const inlineDepthMax = 6;

const inlineTokens = new RegExp([
  /\\([!-/:-@[-`{-~])/.source,                                                  // 1: escaped
  /(`{1,3})(?!`)([^`\n]{1,2000}?)\2(?!`)/.source,                               // 2, 3: code
  /(!?)\[((?:[^\][\n]|\[[^\][\n]{0,200}\]){0,500})\]\(<?([^()\s<>]{0,2000}(?:\([^()\s<>]{0,200}\))?[^()\s<>]{0,200})>?(?:\s+["'][^"'\n]{0,300}["'])?\)/.source,  // 4, 5, 6: link
  /<((?:https?:\/\/|mailto:)[^<>\s]{1,2000})>/.source,                          // 7: link in brackets
  /(https?:\/\/[^\s<>()[\]"'`*]{1,2000}[^\s<>()[\]"'`*.,;:!?_])/.source,         // 8: bare link
  /(\*\*|__)(?=\S)((?:(?!\9)[^]){1,2000}?\S|\S)\9/.source,                       // 9, 10: strong
  /(\*|_)(?=\S)((?:(?!\11)[^]){1,2000}?\S|\S)\11/.source,                       // 11, 12: emphasis
  /(<br ?\/?>| {2,}\n|\\\n)/.source,                                            // 13: line break
].join('|'), 'g');

const entities = {amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0'};
const withoutEntities = (text) => text.replace(/&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,6})|#x([\da-fA-F]{1,5}));/g,
  (all, name, decimal, hex) => entities[name] ?? String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16)));

function inlineMarkdown(text, depth = 0) {
  const parts = [];
  let from = 0;
  const isWord = (c) => c !== undefined && /[\p{L}\p{N}_]/u.test(c);
  for (const found of text.matchAll(inlineTokens)) {
    const [all, escaped, , code, image, label, url, bracketed, bare, strongMark, strong, mark, emphasis] = found;
    const before = text[found.index - 1];
    // snake_case has no emphasis in it.
    const isInWord = (strongMark === '__' || mark === '_') &&
      (isWord(before) || isWord(text[found.index + all.length]));
    parts.push(withoutEntities(text.slice(from, found.index)));
    from = found.index + all.length;
    if (isInWord || depth > inlineDepthMax) {
      parts.push(all);
    } else if (escaped !== undefined) {
      parts.push(escaped);
    } else if (code !== undefined) {
      parts.push(h('code', null, code.trim() || code));
    } else if (url !== undefined) {
      const inner = inlineMarkdown(label, depth + 1);
      parts.push(url.startsWith('#') ? h('a', {href: url}, inner)
        : externalLink(url, image ? 'image: ' : '', label === '' ? url : inner));
    } else if (bracketed !== undefined || bare !== undefined) {
      parts.push(externalLink(bracketed ?? bare, bracketed ?? bare));
    } else if (strong !== undefined) {
      parts.push(h('strong', null, inlineMarkdown(strong, depth + 1)));
    } else if (emphasis !== undefined) {
      parts.push(h('em', null, inlineMarkdown(emphasis, depth + 1)));
    } else {
      parts.push(h('br'));
    }
  }
  parts.push(withoutEntities(text.slice(from)));
  return parts;
}

// `level` is that of the first heading.
function markdown(text, level = 4) {
  const root = h('div', {class: 'prose'});
  if (typeof text !== 'string') return root;
  const lines = text.slice(0, markdownLengthMax).replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n');
  const levels = lines.map((line) => /^#{1,6}(?= )/.exec(line)?.[0].length).filter(Boolean);
  const highest = levels.reduce((a, b) => Math.min(a, b), 6);
  append(root, markdownBlocks(lines, (n) => 'h' + Math.min(6, level + n - highest), 0));
  if (text.length > markdownLengthMax) append(root, [h('p', null, '…')]);
  return root;
}

const listItem = /^( {0,8})([-*+]|\d{1,9}[.)]) +(?=\S)/;
const tableRule = /^ {0,3}\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;

function startsBlock(line) {
  return /^(#{1,6} |```|~~~|>|([-*_] *){3,}$)/.test(line) || listItem.test(line);
}

function markdownBlocks(lines, heading, depth) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line.trim() === '') {
      ++i;
      continue;
    }
    const fence = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (fence) {
      const body = [];
      for (++i; i < lines.length && !lines[i].trimStart().startsWith(fence); ++i) body.push(lines[i]);
      ++i;
      blocks.push(h('pre', {tabindex: '0'}, h('code', null, body.join('\n'))));
      continue;
    }
    const title = /^(#{1,6}) +(.*?)( +#+)? *$/.exec(line);
    if (title) {
      blocks.push(h(heading(title[1].length), null, inlineMarkdown(title[2])));
      ++i;
      continue;
    }
    if (/^ {0,3}(([-] *){3,}|([*] *){3,}|([_] *){3,})$/.test(line)) {
      blocks.push(h('hr'));
      ++i;
      continue;
    }
    if (/^ {0,3}>/.test(line) && depth < 8) {
      const body = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]); ++i) body.push(lines[i].replace(/^ {0,3}> ?/, ''));
      blocks.push(h('blockquote', null, markdownBlocks(body, heading, depth + 1)));
      continue;
    }
    if (listItem.test(line) && depth < 8) {
      const [list, next] = markdownList(lines, i, heading, depth);
      blocks.push(list);
      i = next;
      continue;
    }
    if (line.includes('|') && i + 1 < lines.length && lines[i + 1].includes('-') && tableRule.test(lines[i + 1])) {
      const cells = (row) => row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).slice(0, 50)
        .map((cell) => cell.trim().replace(/\\\|/g, '|'));
      const head = cells(line).map((cell) => h('th', {scope: 'col'}, inlineMarkdown(cell)));
      const rows = [];
      for (i += 2; i < lines.length && lines[i].includes('|'); ++i) {
        rows.push(h('tr', null, cells(lines[i]).map((cell) => h('td', null, inlineMarkdown(cell)))));
      }
      blocks.push(h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table'},
        h('table', null, h('thead', null, h('tr', null, head)), h('tbody', null, rows))));
      continue;
    }
    const paragraph = [line];
    for (++i; i < lines.length && lines[i].trim() !== '' && !startsBlock(lines[i]); ++i) paragraph.push(lines[i]);
    blocks.push(h('p', null, inlineMarkdown(paragraph.join('\n').trim())));
  }
  return blocks;
}

function markdownList(lines, i, heading, depth) {
  const first = listItem.exec(lines[i]);
  const isOrdered = /\d/.test(first[2]);
  const items = [];
  while (i < lines.length) {
    const found = listItem.exec(lines[i]);
    if (!found || found[1].length > first[1].length + 1 || /\d/.test(found[2]) !== isOrdered) break;
    if (found[1].length < first[1].length) break;
    const width = found[0].length;
    const body = [lines[i].slice(width)];
    for (++i; i < lines.length; ++i) {
      const indent = lines[i].length - lines[i].trimStart().length;
      if (lines[i].trim() === '') {
        const next = lines[i + 1] ?? '';
        if (next.trim() === '' || next.length - next.trimStart().length <= found[1].length) break;
        body.push('');
      } else if (indent > found[1].length) {
        body.push(lines[i].slice(Math.min(indent, width)));
      } else if (startsBlock(lines[i].trimStart())) {
        break;
      } else {
        body.push(lines[i]);
      }
    }
    const blocks = markdownBlocks(body, heading, depth + 1);
    // A single paragraph is the item itself.
    items.push(h('li', null, blocks.length > 0 && blocks[0].tagName === 'P'
      ? [[...blocks[0].childNodes], blocks.slice(1)] : blocks));
    while (i < lines.length && lines[i].trim() === '' && listItem.test(lines[i + 1] ?? '')) ++i;
  }
  const start = isOrdered ? parseInt(first[2], 10) : 1;
  return [h(isOrdered ? 'ol' : 'ul', isOrdered && start !== 1 ? {start} : null, items), i];
}
