/**
 * Strict parser for XML of service providers.
 *
 * `scan` refuses a document with two readings before the parser sees it. `elements` and `values` read the tree. `signature` verifies signatures.
 */
import { DOMParser } from '@xmldom/xmldom';
import { MalformedXml } from './malformed.js';
import { type Limits, scanned } from './scan.js';

/** Limits of a message. */
export const messageLimits: Limits = { maxBytes: 65_536, maxNodes: 400, maxDepth: 24 };

const refuse = () => {
  throw new MalformedXml('xml_not_well_formed');
};
const parser = new DOMParser({ errorHandler: { warning: refuse, error: refuse, fatalError: refuse } });

/**
 * Returns the root of a document. The document must be well-formed, within the limits, without DTD, entities, CDATA and processing instructions, and with
 * unique IDs.
 * @throws MalformedXml
 */
export function parseStrict(xml: string, limits: Partial<Limits> = {}): Element {
  const root = parser.parseFromString(scanned(xml, { ...messageLimits, ...limits }), 'text/xml').documentElement;
  return root ?? refuse();
}

/** Decodes bytes and removes a byte order mark. @throws MalformedXml for bytes that are not in the encoding */
export function decodedText(bytes: Uint8Array, encoding = 'utf-8'): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new MalformedXml('xml_encoding');
  }
}
