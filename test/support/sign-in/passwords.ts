/** Forgotten passwords, as users and mail programs see them. */
import type { MailMessage } from 'tenant-idp';
import type { Captured } from '../administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce } from '../client/agent.js';
import { until } from '../time/until.js';

export const NEW_PASSWORD = 'a new password that is long';

export const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
export const linkIn = ({ text }: { readonly text: string }): string => /https?:\S+\/(?:password|email|register)\/\S+/.exec(text)?.[0] ?? '';
/** Pattern of a time in English mails. */
export const IN_ENGLISH = /\d{1,2} [A-Z][a-z]+ \d{4} at \d\d:\d\d \(UTC\)/;

/** Returns the password page for an identifier, in a sign-in to an application. */
export async function passwordPage(
  issuer: string,
  agent: Agent,
  identifier: string,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const first = await agent.follow(await agent.get(authorizeUrl(issuer, { ...pkce, ...parameters })));
  return agent.submit(first, { identifier });
}

/** Presses the button next to the password field. As in a browser, this posts the form of the button. */
export async function pressForgotten(agent: Agent, page: Answer): Promise<Answer> {
  const [form = ''] = /<form id="addition-forgotten-password"[\s\S]*?<\/form>/.exec(page.body) ?? [];
  return agent.submit({ ...page, body: form }, {});
}

/** Requests a reset link. Returns the page after the form. */
export async function forget(
  issuer: string,
  identifier: string,
  agent = new Agent(),
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const page = await pressForgotten(agent, await passwordPage(issuer, agent, identifier, parameters));
  return agent.submit(page, {});
}

/** Waits for a mail of a kind to an address. Skips the first `seen` mails. */
export const mailTo = ({ mails }: Captured, address: string, kind: string, seen = 0) =>
  until(
    () => mails.filter((mail) => mail.to === address && mail.kind === kind)[seen] as MailMessage,
    (mail) => mail !== undefined,
  );
