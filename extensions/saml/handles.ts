/** Handles of requests that are stored while the browser is at a sign-in or at another service provider. */
import { randomBytes } from 'node:crypto';
import { type ArtifactKind, type ExtensionContext, mayBeKept } from '../../lib/extension-door.js';
import { RefusedMessage } from './messages/refused.js';

/** Stores a request and returns its handle. @throws RefusedMessage `too_much_to_keep` */
export async function storeUnderHandle(
  { artifact }: Pick<ExtensionContext['records'], 'artifact'>,
  kind: ArtifactKind,
  request: object,
): Promise<string> {
  if (!mayBeKept(request, 'longer')) throw new RefusedMessage('too_much_to_keep');
  const handle = randomBytes(24).toString('base64url');
  await artifact(kind).put(handle, request);
  return handle;
}
