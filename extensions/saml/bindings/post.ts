/** Messages in a form. @see SAML Bindings §3.5 */
import { type Context, form } from '../../../lib/extension-door.js';
import { RefusedMessage } from '../messages/refused.js';
import { decodedBase64, withoutSpace } from '../xml/base64.js';
import { messageLimits } from '../xml/strict.js';
import { type Carried, checkRelayState } from './carried.js';
import { inflated } from './redirect.js';

const names = ['SAMLRequest', 'SAMLResponse', 'RelayState'] as const;

/** Reads a message from a form. A body whose declared length is too large is not read. @throws RefusedMessage */
export async function readPost(ctx: Context): Promise<Carried> {
  const fields = await fieldsOf(ctx);
  const [request, response, relayState] = names.map((name) => {
    const value = fields[name];
    if (value !== undefined && typeof value !== 'string') throw new RefusedMessage('duplicate_parameter');
    return value;
  });
  checkRelayState(relayState);
  if (request !== undefined && response !== undefined) throw new RefusedMessage('duplicate_parameter');
  const bytes = decodedBase64(withoutSpace(request ?? response ?? ''));
  if (!bytes) throw new RefusedMessage(request === undefined && response === undefined ? 'message_missing' : 'base64');
  return {
    binding: 'post',
    parameter: request === undefined ? 'SAMLResponse' : 'SAMLRequest',
    bytes: xmlIn(bytes),
    ...(relayState ? { relayState } : {}),
  };
}

async function fieldsOf(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    await form(ctx, async () => {});
  } catch (error) {
    const { status } = error as { readonly status?: unknown };
    if (status === 413) throw new RefusedMessage('form_too_long');
    if (typeof status === 'number' && status < 500) throw new RefusedMessage('parameters_malformed');
    throw error;
  }
  return (ctx.request.body ?? {}) as Record<string, unknown>;
}

/** Returns the XML of a posted message. node-saml compresses posted messages by default, so compressed messages are accepted. */
function xmlIn(bytes: Buffer): Buffer {
  const isText = /^(?:\xEF\xBB\xBF)?[ \t\r\n]*</.test(bytes.toString('latin1', 0, 64));
  if (!isText) return inflated(bytes);
  if (bytes.length > messageLimits.maxBytes) throw new RefusedMessage('xml_too_long');
  return bytes;
}
