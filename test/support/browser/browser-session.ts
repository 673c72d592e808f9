/** Sessions of a browser that begin and end without shown pages, for tests of other pages, because each shown page takes more time. */
import type { APIResponse, BrowserContext } from 'playwright-core';
import { formOf } from '../client/agent.js';

const pageOf = async (answer: APIResponse) => ({ body: await answer.text(), url: answer.url() });

/** Follows redirects as long as they stay at the origin. */
async function settle({ request }: BrowserContext, answer: APIResponse): Promise<void> {
  const { origin } = new URL(answer.url());
  for (let at = answer; at.headers().location !== undefined; ) {
    const next = new URL(at.headers().location ?? '', at.url());
    if (next.origin !== origin) return;
    at = await request.get(next.href, { maxRedirects: 0 });
  }
}

/** @param url authorization request that requires a sign-in. */
export async function signInBeside(context: BrowserContext, url: string, userName = 'alice@acme.test'): Promise<void> {
  const { request } = context;
  const identifier = formOf(await pageOf(await request.get(url)));
  const filled = await request.post(identifier.action, { form: { ...identifier.fields, identifier: userName } });
  const password = formOf(await pageOf(filled));
  const proof = { ...password.fields, password: userName.split('@')[0] ?? '' };
  await settle(context, await request.post(password.action, { form: proof, maxRedirects: 0 }));
}

export async function signOutBeside(context: BrowserContext, issuer: string): Promise<void> {
  const { request } = context;
  const { action, fields } = formOf(await pageOf(await request.get(`${issuer}/connect/endsession`)));
  await settle(context, await request.post(action, { form: { ...fields, logout: 'yes' }, maxRedirects: 0 }));
}
