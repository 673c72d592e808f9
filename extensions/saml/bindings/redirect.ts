/**
 * Messages in a URL. The reader works on the raw query, because the signature covers its characters and not the decoded values.
 * @see SAML Bindings §3.4
 */
import { inflateRawSync } from 'node:zlib';
import type { Context } from '../../../lib/extension-door.js';
import { RefusedMessage } from '../messages/refused.js';
import type { MessageParameter } from '../messages/send.js';
import { decodedBase64 } from '../xml/base64.js';
import { messageLimits } from '../xml/strict.js';
import { type Carried, checkRelayState, type Detached } from './carried.js';

/** Characters of a query, at most: Node accepts as many in all headers together. */
const MAX_QUERY_CHARS = 16_384;
const DEFLATE = 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE';

const names = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SAMLEncoding', 'SigAlg', 'Signature'] as const;
type Name = (typeof names)[number];
/** Values as the query has them, still encoded. */
type Raw = ReadonlyMap<Name, string>;

/** Reads a message from the query. @throws RefusedMessage */
export function readRedirect({ querystring }: Context): Carried {
  if (querystring.length > MAX_QUERY_CHARS) throw new RefusedMessage('query_too_long');
  const raw = parametersIn(querystring);
  const relayState = valueIn(raw, 'RelayState');
  checkRelayState(relayState);
  if ((valueIn(raw, 'SAMLEncoding') ?? DEFLATE) !== DEFLATE) throw new RefusedMessage('encoding_unsupported');
  const parameter = parameterOf(raw);
  const compressed = decodedBase64(valueIn(raw, parameter) ?? '');
  if (!compressed) throw new RefusedMessage('base64');
  const detached = detachedOf(raw, parameter);
  return {
    binding: 'redirect',
    parameter,
    bytes: inflated(compressed),
    ...(relayState ? { relayState } : {}),
    ...(detached && { detached }),
  };
}

/** Returns the parameters of the binding. Other parameters are ignored. */
function parametersIn(query: string): Raw {
  const raw = new Map<Name, string>();
  for (const pair of query.split('&')) {
    const separator = pair.indexOf('=');
    const written = separator < 0 ? pair : pair.slice(0, separator);
    const name = names.find((each) => each === decoded(written));
    if (name === undefined) continue;
    if (raw.has(name)) throw new RefusedMessage('duplicate_parameter');
    // Another parser may take an encoded name for another parameter than this reader does.
    if (written !== name) throw new RefusedMessage('parameters_malformed');
    raw.set(name, separator < 0 ? '' : pair.slice(separator + 1));
  }
  return raw;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new RefusedMessage('parameters_malformed');
  }
}

function valueIn(raw: Raw, name: Name): string | undefined {
  const value = raw.get(name);
  return value === undefined ? undefined : decoded(value);
}

function parameterOf(raw: Raw): MessageParameter {
  if (raw.has('SAMLRequest') && raw.has('SAMLResponse')) throw new RefusedMessage('duplicate_parameter');
  if (raw.has('SAMLRequest')) return 'SAMLRequest';
  if (raw.has('SAMLResponse')) return 'SAMLResponse';
  throw new RefusedMessage('message_missing');
}

/** Returns the signature. The signature covers these parameters in this order, whatever their order in the URL. @see SAML Bindings §3.4.4.1 */
function detachedOf(raw: Raw, parameter: MessageParameter): Detached | undefined {
  const algorithm = valueIn(raw, 'SigAlg');
  const signature = valueIn(raw, 'Signature');
  if (algorithm === undefined && signature === undefined) return undefined;
  if (!algorithm || !signature) throw new RefusedMessage('signature_incomplete');
  const bytes = decodedBase64(signature);
  if (!bytes) throw new RefusedMessage('base64');
  return { octets: octetsOf(raw, [parameter, 'RelayState', 'SigAlg']), algorithm, signature: bytes };
}

/**
 * Returns the query as it was received, and as the service provider may have signed it. Every spelling decodes to the values that are read, so no signature
 * is valid for another value.
 */
function octetsOf(raw: Raw, signed: readonly Name[]): readonly string[] {
  const query = (write: (value: string) => string): string =>
    signed.flatMap((name) => (raw.has(name) ? `${name}=${write(raw.get(name) ?? '')}` : [])).join('&');
  const sent = query((value) => value);
  // A browser escapes an apostrophe that the service provider signed without an escape. @see URL Standard, special-query percent-encode set
  const withApostrophes = sent.replaceAll('%27', "'");
  // node-saml signs the escapes of `encodeURIComponent`, but sends the escapes of a form: `+` for a space, and escapes for `!'()~`.
  const canonical = query((value) => encodeURIComponent(decoded(value)));
  return [...new Set([sent, withApostrophes, canonical])];
}

/** Inflates a message. The output is bounded, so a larger message is never written to memory. @throws RefusedMessage */
export function inflated(compressed: Buffer): Buffer {
  try {
    return inflateRawSync(compressed, { maxOutputLength: messageLimits.maxBytes });
  } catch (error) {
    throw new RefusedMessage((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'inflate_too_large' : 'inflate_failed');
  }
}
