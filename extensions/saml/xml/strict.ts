/**
 * XML as service providers send it: parsed strictly, or refused.
 *
 * `scan` refuses whatever has two readings before the parser sees it, `elements` and `values` read the tree, `verify` verifies signatures.
 */
import { DOMParser } from '@xmldom/xmldom';
import { MalformedXml } from './malformed.js';
import { type Limits, scanned } from './scan.js';

/** What a message may be. */
export const messageLimits: Limits = { maxBytes: 65_536, maxNodes: 400, maxDepth: 24 };

const refuse = () => {
  throw new MalformedXml('xml_not_well_formed');
};
const parser = new DOMParser({ errorHandler: { warning: refuse, error: refuse, fatalError: refuse } });

/**
 * The root of a document that is well-formed, within the limits, without DTD, entities, CDATA and processing instructions, and whose IDs are unique.
 * @throws MalformedXml
 */
export function parseStrict(xml: string, limits: Partial<Limits> = {}): Element {
  const root = parser.parseFromString(scanned(xml, { ...messageLimits, ...limits }), 'text/xml').documentElement;
  return root ?? refuse();
}

/** Returns the text without byte order mark. @throws MalformedXml for bytes that are not in the encoding */
export function decodedText(bytes: Uint8Array, encoding = 'utf-8'): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new MalformedXml('xml_encoding');
  }
}
