/** Forms that the plain door reads, and the credentials that the door finds in the forms. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Context } from 'koa';
import { bodyArrival } from '../../lib/http/requests/body-arrival.js';
import { plainForm } from '../../lib/oidc/tokens/doors/plain-request.js';

let origin: string;
const server = createServer(async (req, res) => {
  await bodyArrival(req);
  const form = plainForm({ req, res } as unknown as Context);
  res.end(JSON.stringify(form ? [form.clientId, form.secret] : 'for oidc-provider'));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

describe('RFC 6749 §2.3.1: the id and the secret are form-encoded before they are joined', () => {
  test.each<[string, string, unknown]>([
    ['nothing to escape', 'web:a-secret_1.~', ['web', 'a-secret_1.~']],
    ['escapes of any case', 'web:%2D%2d%25%3A', ['web', '--%:']],
    ['an escape in the id', '%77eb:secret', ['web', 'secret']],
    ['a colon after the first', 'web:a:b', 'for oidc-provider'],
    ['a plus, which is a space', 'web:a+b', 'for oidc-provider'],
    ['a byte that wants an escape', 'web:a/b', 'for oidc-provider'],
    ['half an escape', 'web:a%2', 'for oidc-provider'],
    ['no escape', 'web:a%zz', 'for oidc-provider'],
    ['half a character', 'web:%C3', 'for oidc-provider'],
    ['a character that no secret has', 'web:%C3%B8', 'for oidc-provider'],
    ['a control character', 'web:%00', 'for oidc-provider'],
    ['no secret', 'web:', 'for oidc-provider'],
  ])('%s', async (_what, credentials, expected) => {
    const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const answer = await fetch(origin, { method: 'POST', headers: { authorization }, body });
    expect(await answer.json()).toEqual(expected);
  });
});
