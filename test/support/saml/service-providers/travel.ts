/** The way of a browser between service providers and the identity provider. */
import { inflateRawSync } from 'node:zlib';
import { Agent, type Answer, formOf } from '../../client/agent.js';

/** Whether the page posts its form immediately, as pages of the service and of service providers do. */
const isSentOn = ({ body }: Pick<Answer, 'body'>): boolean =>
  /HTMLFormElement\.prototype\.submit\.call|onload="document\.forms\[0\]\.submit\(\)"/.test(body);

/** Returns the message that a page posts or a redirect carries; undefined if there is none. */
export function messageIn({ body, location, url }: Answer): { readonly xml: string; readonly relayState: string | undefined } | undefined {
  if (location !== undefined) {
    const query = new URL(location).searchParams;
    const message = query.get('SAMLResponse') ?? query.get('SAMLRequest');
    if (message === null) return undefined;
    return { xml: inflateRawSync(Buffer.from(message, 'base64')).toString(), relayState: query.get('RelayState') ?? undefined };
  }
  if (!isSentOn({ body })) return undefined;
  const { SAMLResponse, SAMLRequest = SAMLResponse, RelayState: relayState } = formOf({ body, url }).fields;
  return SAMLRequest === undefined ? undefined : { xml: Buffer.from(SAMLRequest, 'base64').toString(), relayState };
}

/** Whether the answer carries a message. */
export const hasMessage = (answer: Answer): boolean => messageIn(answer) !== undefined;

/** Posts a form of another site, without cookies that are `SameSite=Lax`. The agent keeps the cookies of the answer. */
export async function postAcross(agent: Agent, action: string, fields: Record<string, string>): Promise<Answer> {
  const stranger = new Agent();
  const answer = await stranger.post(action, fields);
  for (const [name, cookie] of stranger.cookies) agent.cookies.set(name, cookie);
  return answer;
}

/**
 * Follows redirects and pages that post their form immediately, from site to site, until a page waits for a person.
 * @param until gets each answer on the way. The travel also ends when `until` returns true.
 */
export async function travel(agent: Agent, from: Answer | string, until: (answer: Answer) => boolean = () => false): Promise<Answer> {
  let answer = typeof from === 'string' ? await agent.get(from) : from;
  while (!until(answer)) {
    if (answer.location !== undefined) answer = await agent.get(answer.location);
    else if (isSentOn(answer)) {
      const { action, fields } = formOf(answer);
      const isElsewhere = new URL(action).origin !== new URL(answer.url).origin;
      answer = isElsewhere ? await postAcross(agent, action, fields) : await agent.post(action, fields);
    } else break;
  }
  return answer;
}

/** Travels as `travel` does, with a service provider whose cookies are `SameSite=None`: posts to its origin carry the cookies. */
export async function travelWithCookies(agent: Agent, from: Answer | string, origin: string): Promise<Answer> {
  const isPostedThere = (answer: Answer): boolean => hasMessage(answer) && answer.body.includes(`action="${origin}/`);
  const answer = await travel(agent, from, isPostedThere);
  return isPostedThere(answer) ? travelWithCookies(agent, await agent.submit(answer, {}), origin) : answer;
}
