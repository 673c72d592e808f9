/** Users with an authenticator app, without a browser. The app implements RFC 6238. */
import { createHmac } from 'node:crypto';
import { type Agent, type Answer, formOf, signIn } from '../client/agent.js';

/** Returns persons of Acme for a seed. The name is also the user name and the password. */
export const namedPeople = (names: readonly string[]) =>
  names.map((name) => ({
    givenName: name,
    familyName: 'P',
    email: `${name}@acme.test`,
    user: { userName: name, devPassword: name },
  }));

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const bytesOf = (base32: string): Buffer => {
  const bits = [...base32].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
};

/** Returns the code that an app shows this number of steps from now. @see RFC 6238 §4, RFC 4226 §5.3 */
export function codeOf(secret: string, steps = 0, digits = 6): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac('sha1', bytesOf(secret.replaceAll(' ', '')))
    .update(counter)
    .digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
}

/** Returns the texts on a page that the user copies. */
export const copied = ({ body }: Pick<Answer, 'body'>): string[] =>
  [...body.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, text = '']) => text);

/** Returns the problem on a page: at its top, or next to its one field. */
export const problemOf = ({ body }: Pick<Answer, 'body'>): string => {
  const [, top, beside] = /role="alert"[^>]*>[\s\S]*?<p>([\s\S]*?)<\/p>|class="field-problem"[^>]*>([\s\S]*?)<\/p>/.exec(body) ?? [];
  return (top ?? beside ?? '')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'")
    .trim();
};

export const submit = async (agent: Agent, page: Answer, fields: Record<string, string>): Promise<Answer> =>
  agent.follow(await agent.submit(page, fields));

/** Posts the page's form to another step of its sign-in. */
export const postTo = async (agent: Agent, page: Answer, step: string, fields: Record<string, string> = {}): Promise<Answer> => {
  const { action, fields: own } = formOf(page);
  return agent.follow(await agent.post(action.replace(/(\/interaction\/[^/]+).*/, `$1${step}`), { ...own, ...fields }));
};

export interface WithApp {
  readonly secret: string;
  readonly codes: readonly string[];
  /** Answer at the end of the sign-in. */
  readonly response: Answer;
}

/** Sets up an app on the page that requires an app, and finishes the sign-in. */
export async function enrolOn(agent: Agent, page: Answer): Promise<WithApp> {
  const [secret = ''] = copied(page);
  const shown = await submit(agent, page, { code: codeOf(secret) });
  const codes = copied(shown);
  return { secret, codes, response: await submit(agent, shown, {}) };
}

/** Signs in, and then does the same as {@link enrolOn}. */
export const enrol = async (agent: Agent, url: string, userName?: string, password?: string): Promise<WithApp> =>
  enrolOn(agent, await signIn(agent, url, userName, password));
