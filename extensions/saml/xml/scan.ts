/**
 * Scanner that checks a document before the parser sees it. The parser repairs malformed XML, and builds trees of any depth. A document that passes the
 * scan has only one reading.
 */
import { MalformedXml } from './malformed.js';
import { ns } from './namespaces.js';

export interface Limits {
  /** Bytes of UTF-8, at most. */
  readonly maxBytes: number;
  /** Elements and attributes, at most. */
  readonly maxNodes: number;
  /** Depth, at most. 1 is the root alone. */
  readonly maxDepth: number;
  /** Whether comments are removed, as canonical XML does. @default false: comments are refused */
  readonly allowComments?: boolean;
}

const MAX_ATTRIBUTES = 64;
/** Characters of a namespace, at most. Canonical XML repeats a namespace in each branch that uses the namespace. */
const MAX_NAMESPACE = 1024;
const XHTML = 'http://www.w3.org/1999/xhtml';

const declaration =
  /^<\?xml[ \t\r\n]+version[ \t]*=[ \t]*(["'])1\.0\1(?:[ \t\r\n]+encoding[ \t]*=[ \t]*(["'])([\w.-]+)\2)?(?:[ \t\r\n]+standalone[ \t]*=[ \t]*(["'])(?:yes|no)\4)?[ \t\r\n]*\?>/;
/** @see XML 1.0 §2.2 */
const noChar = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const noReference = /&(?!(?:lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/;
const numericReference = /&#(?:([0-9]{1,7})|x([0-9A-Fa-f]{1,6}));/g;
const startOfTag = /<(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)/y;
const attribute = /[ \t\r\n]+(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)[ \t\r\n]*=[ \t\r\n]*(?:"([^"<]*)"|'([^'<]*)')/y;
const endOfTag = /[ \t\r\n]*(\/?)>/y;
const endTag = /<\/([A-Za-z_][\w.:-]*)[ \t\r\n]*>/y;
const predefined: ReadonlyMap<string, string> = new Map(Object.entries({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }));

type Scope = ReadonlyMap<string, string>;
const outermost: Scope = new Map([
  ['', ''],
  ['xml', ns.xml],
]);

/**
 * Checks a document.
 * @returns the document for the parser: without XML declaration and comments
 * @throws MalformedXml
 */
export function scanned(text: string, limits: Limits): string {
  if (Buffer.byteLength(text) > limits.maxBytes) throw new MalformedXml('xml_too_long');
  const xml = withoutDeclaration(text);
  // The check reads the raw text, so that no later step can be tricked into a forbidden construct.
  const forbidden = limits.allowComments ? /<(?:!(?!--)|\?)/ : /<[!?]/;
  if (forbidden.test(xml)) throw new MalformedXml('xml_forbidden_construct');
  if (noChar.test(xml)) throw new MalformedXml('xml_not_well_formed');
  return elementsScanned(xml, limits);
}

function withoutDeclaration(text: string): string {
  const [all = '', , , encoding = 'UTF-8'] = declaration.exec(text) ?? [];
  if (encoding.toUpperCase() !== 'UTF-8') throw new MalformedXml('xml_encoding');
  return text.slice(all.length);
}

function elementsScanned(xml: string, limits: Limits): string {
  const openElements: { readonly name: string; readonly scope: Scope }[] = [];
  const ids = new Set<string>();
  const pieces: string[] = [];
  let copiedTo = 0;
  let nodes = 0;
  let isRootOver = false;
  const notWellFormed = () => new MalformedXml('xml_not_well_formed');
  const count = () => {
    nodes += 1;
    if (nodes > limits.maxNodes) throw new MalformedXml('xml_too_complex');
  };

  let offset = 0;
  for (;;) {
    const tag = xml.indexOf('<', offset);
    const text = xml.slice(offset, tag < 0 ? xml.length : tag);
    if (openElements.length === 0 ? /[^ \t\r\n]/.test(text) : text.includes(']]>')) throw notWellFormed();
    checkReferences(text);
    if (tag < 0) break;

    if (xml.startsWith('<!--', tag)) {
      const end = xml.indexOf('--', tag + 4);
      if (end < 0 || xml[end + 2] !== '>') throw notWellFormed();
      pieces.push(xml.slice(copiedTo, tag));
      offset = copiedTo = end + 3;
      continue;
    }
    if (xml[tag + 1] === '/') {
      const [all, name] = matched(endTag, xml, tag) ?? [''];
      if (name === undefined || openElements.pop()?.name !== name) throw notWellFormed();
      isRootOver = openElements.length === 0;
      offset = tag + all.length;
      continue;
    }

    if (isRootOver) throw notWellFormed();
    count();
    const start = startTag(xml, tag, openElements.at(-1)?.scope ?? outermost, count);
    for (const id of start.ids) {
      if (ids.has(id)) throw new MalformedXml('xml_duplicate_id');
      ids.add(id);
    }
    if (openElements.length >= limits.maxDepth) throw new MalformedXml('xml_too_complex');
    if (start.isEmpty) isRootOver = openElements.length === 0;
    else openElements.push(start);
    offset = start.end;
  }
  if (openElements.length > 0 || !isRootOver) throw notWellFormed();
  return pieces.length === 0 ? xml : pieces.join('') + xml.slice(copiedTo);
}

/** Reads the start tag, or the empty element, at an offset. */
function startTag(xml: string, tag: number, outer: Scope, count: () => void) {
  const notWellFormed = () => new MalformedXml('xml_not_well_formed');
  const [all, prefix = '', local] = matched(startOfTag, xml, tag) ?? [''];
  if (local === undefined) throw notWellFormed();
  const attributes: { readonly prefix: string; readonly local: string; readonly value: string }[] = [];
  let offset = tag + all.length;
  for (;;) {
    const [whole, ofPrefix = '', ofLocal, double, single = ''] = matched(attribute, xml, offset) ?? [''];
    if (ofLocal === undefined) break;
    count();
    if (attributes.length >= MAX_ATTRIBUTES) throw new MalformedXml('xml_too_complex');
    const value = double ?? single;
    checkReferences(value);
    attributes.push({ prefix: ofPrefix, local: ofLocal, value });
    offset += whole.length;
  }
  const [end, slash] = matched(endOfTag, xml, offset) ?? [''];
  if (slash === undefined) throw notWellFormed();

  const declared = new Map<string, string>();
  for (const { prefix: ofPrefix, local: name, value: written } of attributes) {
    const isDefault = ofPrefix === '' && name === 'xmlns';
    if (!isDefault && ofPrefix !== 'xmlns') continue;
    if (written.length > MAX_NAMESPACE) throw new MalformedXml('xml_too_complex');
    const value = normalized(written);
    // `xml` and `xmlns` cannot be declared, and a prefix cannot be undeclared. The parser treats XHTML by other rules. @see Namespaces in XML 1.0 §3, §5
    const isReserved = value === ns.xml || value === XHTML || value === 'http://www.w3.org/2000/xmlns/';
    if (isReserved || (!isDefault && (value === '' || name === 'xml' || name === 'xmlns' || name in Object.prototype)))
      throw new MalformedXml('xml_not_well_formed');
    declared.set(isDefault ? '' : name, value);
  }
  const scope = declared.size === 0 ? outer : new Map([...outer, ...declared]);
  if (!scope.has(prefix)) throw notWellFormed();

  const names = new Set<string>();
  const ids: string[] = [];
  for (const { prefix: ofPrefix, local: name, value } of attributes) {
    const space = ofPrefix === '' ? '' : ofPrefix === 'xmlns' ? 'xmlns' : scope.get(ofPrefix);
    // Two prefixes of one namespace give one attribute twice. @see Namespaces in XML 1.0 §6.3
    if (space === undefined || names.has(`${space} ${name}`)) throw notWellFormed();
    names.add(`${space} ${name}`);
    if (/^id$/i.test(name) && ofPrefix !== 'xmlns') ids.push(normalized(value));
  }
  return { name: prefix === '' ? local : `${prefix}:${local}`, scope, ids, isEmpty: slash === '/', end: offset + end.length };
}

/** Checks references: only the five predefined entities, and numbers of valid characters. */
function checkReferences(text: string): void {
  if (!text.includes('&')) return;
  if (noReference.test(text)) throw new MalformedXml('xml_forbidden_construct');
  for (const [, decimal, hex] of text.matchAll(numericReference)) {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(decimal, 10);
    if (code > 0x10ffff || noChar.test(String.fromCodePoint(code))) throw new MalformedXml('xml_not_well_formed');
  }
}

/** Returns the value of an attribute whose references were checked. @see XML 1.0 §3.3.3 */
const normalized = (value: string): string =>
  value
    .replace(/[\t\r\n]/g, ' ')
    .replace(/&(?:#([0-9]+)|#x([0-9A-Fa-f]+)|([a-z]+));/g, (_all, decimal: string | undefined, hex: string | undefined, name: string) =>
      decimal === undefined && hex === undefined
        ? (predefined.get(name) ?? '')
        : String.fromCodePoint(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(decimal, 10)),
    );

function matched(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}
