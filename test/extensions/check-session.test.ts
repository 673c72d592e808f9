/** The script of the frame alone, in a simulated browser. `test/protocol/sessions/check-session.test.ts` tests the script in Chromium. */
import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { createContext, runInContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { frameScript } from '../../extensions/check-session/frame-script.js';
import { hostileTexts } from '../support/requests/hostile-content.js';

const cookie = 'idp.browser-state';
const script = frameScript({ cookie, clientPath: '/idp/check-session/client' });

interface Straw {
  readonly cookies?: string;
  /** Undefined means a browser without `hasStorageAccess`. */
  readonly storage?: boolean;
  readonly known?: (clientId: string) => boolean | 'away';
}

/** Runs the script. The result posts messages to the script, and returns its replies. */
function frameIn({ cookies = '', storage, known = () => true }: Straw) {
  let listener: (event: object) => void = () => {};
  let lookups = 0;
  class XMLHttpRequest {
    status = 0;
    responseText = '';
    onload = () => {};
    onerror = () => {};
    #id = '';
    open(_method: string, url: string) {
      this.#id = new URL(url, 'http://idp.test').searchParams.get('client_id') ?? '';
    }
    send() {
      lookups += 1;
      const is = known(this.#id);
      if (is === 'away') return void Promise.resolve().then(() => this.onerror());
      Object.assign(this, { status: 200, responseText: JSON.stringify({ known: is }) });
      void Promise.resolve().then(() => this.onload());
    }
  }
  const document = { cookie: cookies, ...(storage === undefined ? {} : { hasStorageAccess: async () => storage }) };
  const window = { addEventListener: (_type: string, added: typeof listener) => (listener = added) };
  runInContext(script, createContext({ window, document, XMLHttpRequest }));
  const post = async (data: unknown, origin = 'https://rp.test'): Promise<unknown[]> => {
    const replies: unknown[] = [];
    listener({ data, origin, source: { postMessage: (reply: string, target: string) => replies.push([reply, target]) } });
    await turn();
    return replies;
  };
  return {
    document,
    post,
    ask: async (data: unknown, origin?: string) => (await post(data, origin)).map((reply) => (reply as string[])[0]),
    lookups: () => lookups,
  };
}

const stateOf = (clientId: string, origin: string, state: string, salt = randomBytes(16).toString('base64url')) =>
  `${createHash('sha256').update(`${clientId} ${origin} ${state} ${salt}`).digest('base64url')}.${salt}`;

test('Session Management 1.0 §3.2: the script hashes as the service does, whatever the client id, the origin and the state', async () => {
  const { document, ask } = frameIn({});
  for (let round = 0; round < 500; round += 1) {
    const state = randomBytes(round % 200).toString('base64url') || 'state';
    const clientId = ['web', 'ærlig klient', '日本', 'x'.repeat(round), '💶 1'][round % 5] || 'web';
    document.cookie = `a=b; ${cookie}=${state}; c=d`;
    expect(await ask(`${clientId} ${stateOf(clientId, 'https://rp.test', state)}`)).toEqual(['unchanged']);
    expect(await ask(`${clientId} ${stateOf(clientId, 'https://other.test', state)}`)).toEqual(['changed']);
    expect(await ask(`${clientId} ${stateOf(`${clientId}2`, 'https://rp.test', state)}`)).toEqual(['changed']);
  }
});

test('design 5: a client is looked up once, and while it cannot be the session alone decides', async () => {
  const message = `web ${stateOf('web', 'https://rp.test', 's')}`;
  const frame = frameIn({ cookies: `${cookie}=s`, known: (id) => id === 'web' });
  for (let times = 0; times < 5; times += 1) expect(await frame.ask(message)).toEqual(['unchanged']);
  expect(frame.lookups()).toBe(1);
  expect(await frame.ask(`nobody ${stateOf('nobody', 'https://rp.test', 's')}`)).toEqual(['error']);
  const away = frameIn({ cookies: `${cookie}=s`, known: () => 'away' });
  expect([await away.ask(message), await away.ask(`web ${stateOf('web', 'https://rp.test', 'other')}`)]).toEqual([
    ['unchanged'],
    ['changed'],
  ]);
});

test('design 5: a browser that can prove that it shows the frame no cookies gets error, and no other does', async () => {
  const message = `web ${stateOf('web', 'https://rp.test', 's')}`;
  const nobody = `web ${stateOf('web', 'https://rp.test', '')}`;
  expect(await frameIn({ storage: false }).ask(message)).toEqual(['error']);
  expect(await frameIn({ storage: false }).ask(nobody)).toEqual(['error']);
  expect(await frameIn({ storage: true }).ask(message)).toEqual(['changed']);
  expect(await frameIn({}).ask(message)).toEqual(['changed']);
  expect(await frameIn({ storage: true }).ask(nobody)).toEqual(['unchanged']);
  expect(await frameIn({ storage: false, cookies: `${cookie}=s` }).ask(message)).toEqual(['unchanged']);
});

test('F10: an answer goes to who asked, at their origin; where there is none, nobody gets one', async () => {
  const { post } = frameIn({});
  expect(await post('nonsense', 'https://rp.test')).toEqual([['error', 'https://rp.test']]);
  expect(await post('nonsense', 'null')).toEqual([]);
});

test('4.9 error for whatever is not a client id, one space and a session state', async () => {
  const { ask } = frameIn({ cookies: `${cookie}=s` });
  const state = stateOf('web', 'https://rp.test', 's');
  const [hash = '', salt = ''] = state.split('.');
  const wrong = [
    '',
    ' ',
    'web',
    `web${state}`,
    ` ${state}`,
    `web\n${state}`,
    `web ${hash}`,
    `web ${hash}.`,
    `web .${salt}`,
    `web ${state}.more`,
  ];
  const odd = [undefined, null, 7, {}, [`web ${state}`], { toString: () => `web ${state}` }, 'x'.repeat(100_000), ...hostileTexts];
  for (const message of [...wrong, ...odd]) expect(await ask(message)).toEqual(['error']);
});

test('F10: ten thousand messages of chance are answered error or changed, never unchanged', async () => {
  const { ask } = frameIn({ cookies: `${cookie}=s` });
  const state = stateOf('web', 'https://rp.test', 's');
  const answers = new Set<unknown>();
  for (let round = 0; round < 10_000; round += 1) {
    const bytes = randomBytes(4);
    const message = `web ${state}`.split('');
    const at = bytes.readUInt8(0) % message.length;
    const other = String.fromCharCode(bytes.readUInt8(1));
    if (message[at] === other) continue;
    message[at] = other;
    for (const answer of await ask(message.join(''))) answers.add(answer);
  }
  expect([...answers].sort()).toEqual(['changed', 'error']);
});

test('design 5: the script is ES5', () => {
  expect(script).not.toMatch(/=>|`|\.\.\.|\b(let|const|class|async|await|of)\b/);
});
