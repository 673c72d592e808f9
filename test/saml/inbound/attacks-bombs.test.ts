/** Threats I7 and I9 of the security reference: large input is refused before it is inflated, parsed or stored. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { constants, deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { rawRequest } from '../../support/client/raw-request.js';
import { type Outcome, outcomeIn, reasonOf, sendPost, sendRedirect } from '../../support/saml/inbound/front-door.js';
import { unparsed } from '../../support/saml/inbound/parser-calls.js';
import { keyless, lax, useFrontDoor, wiki } from '../../support/saml/inbound/registered.js';
import { authnRequest, joined, postFields, redirectParameters, redirectQuery, signed } from '../../support/saml/inbound/sent-messages.js';

const door = useFrontDoor();
const MIB = 2 ** 20;

/** Returns DEFLATE of so many MiB of spaces, made without the time and memory that they would take. */
function bomb(mebibytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(MIB, ' '), { finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([...Array<Buffer>(mebibytes).fill(block), Buffer.from([3, 0])]);
}
const queryOf = (compressed: Buffer) => `SAMLRequest=${encodeURIComponent(compressed.toString('base64'))}`;

/** The same service behind a server that accepts longer headers than Node does by default. The server measures each answer. */
let roomy: Server;
const tookMs: number[] = [];
beforeAll(async () => {
  const answer = door.service.idp.callback();
  roomy = createServer({ maxHeaderSize: 4 * MIB }, (request, response) => {
    const from = performance.now();
    response.on('finish', () => tookMs.push(performance.now() - from));
    answer(request, response);
  });
  await new Promise<void>((resolve) => roomy.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => roomy.close(resolve)));

/** Query and body of a request: by GET without a body, else by POST. */
interface Prepared {
  readonly query?: string;
  readonly body?: string;
}
async function send({ query = '', body }: Prepared): Promise<Outcome> {
  const { pathname, host } = new URL(door.at().sso);
  const lines = [`${body === undefined ? 'GET' : 'POST'} ${pathname}?${query} HTTP/1.1`, `Host: ${host}`];
  const origin = `http://127.0.0.1:${(roomy.address() as AddressInfo).port}`;
  const answer = await rawRequest(origin, [...lines, 'Content-Type: application/x-www-form-urlencoded'], body);
  return outcomeIn(answer.status, /^x-refused: (.*)$/im.exec(answer.head)?.[1], answer.body);
}

const inUrl = (xml: string): Prepared => ({ query: redirectQuery(xml) });
const inForm = (fields: Record<string, string>): Prepared => ({ body: String(new URLSearchParams(fields)) });
const nested = (depth: number) => `${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`;
const siblings = (count: number) => `<a>${'<b/>'.repeat(count)}</a>`;
const attributes = Array.from({ length: 1000 }, (_, index) => `b${index}=""`).join(' ');
const attacks: readonly (readonly [name: string, reason: string, prepare: () => Prepared])[] = [
  ['a deflate bomb of 260 KB, for 200 MB', 'query_too_long', () => ({ query: queryOf(bomb(200)) })],
  ['a bomb within the 16 KB that Node takes, for 8 MB', 'inflate_too_large', () => ({ query: queryOf(bomb(8)) })],
  ['the same in a form', 'inflate_too_large', () => inForm({ SAMLRequest: bomb(8).toString('base64') })],
  ['a form of 5 MB', 'form_too_long', () => inForm({ SAMLRequest: 'A'.repeat(5 * MIB) })],
  ['a query of 17 KB', 'query_too_long', () => ({ query: `SAMLRequest=${'A'.repeat(17_000)}` })],
  ['a RelayState of 1 MB in a URL', 'query_too_long', () => ({ query: `SAMLRequest=a&RelayState=${'a'.repeat(MIB)}` })],
  ['a RelayState of 1 MB in a form', 'form_too_long', () => inForm({ SAMLRequest: 'a', RelayState: 'a'.repeat(MIB) })],
  ['XML 30,000 deep', 'inflate_too_large', () => inUrl(nested(30_000))],
  ['XML 30,000 deep in a form', 'form_too_long', () => inForm(postFields(nested(30_000)))],
  ['XML 9,000 deep', 'xml_too_complex', () => inUrl(nested(9000))],
  ['XML 3,000 deep in a form', 'xml_too_complex', () => inForm(postFields(nested(3000)))],
  ['150,000 siblings', 'inflate_too_large', () => inUrl(siblings(150_000))],
  ['as many siblings as fit', 'xml_too_complex', () => inUrl(siblings(16_000))],
  ['1,000 attributes', 'xml_too_complex', () => inUrl(`<a ${attributes}/>`)],
  ['one name of 60,000 letters', 'xml_not_well_formed', () => inUrl(`<${'a'.repeat(60_000)}`)],
  ['white space of 60,000 characters', 'xml_not_well_formed', () => inUrl(`<a${' '.repeat(60_000)}b`)],
  ['as many references as fit', 'xml_forbidden_construct', () => inUrl(`<a>${'&amp;&#65;'.repeat(6000)}&x;</a>`)],
  [
    'one namespace of 58,000 letters that 350 elements would each repeat when it is signed',
    'xml_too_complex',
    () => inUrl(`<a xmlns:b="${'b'.repeat(58_000)}">${'<b:c/>'.repeat(350)}</a>`),
  ],
];

describe('M15: what is kept of a request that nobody signed is bounded', () => {
  const much = 'a'.repeat(1025);
  test.each([
    ['the name of the subject', { body: `<saml:Subject><saml:NameID>${much}</saml:NameID></saml:Subject>` }],
    ['its format', { body: `<saml:Subject><saml:NameID Format="${much}">a</saml:NameID></saml:Subject>` }],
    ['its qualifier', { body: `<saml:Subject><saml:NameID SPNameQualifier="${much}">a</saml:NameID></saml:Subject>` }],
    ['the place of the response', { attributes: `AssertionConsumerServiceURL="${much}"` }],
    ['the binding', { attributes: `ProtocolBinding="${much}"` }],
    ['the format that is wanted', { body: `<samlp:NameIDPolicy Format="${much}"/>` }],
    [
      'a class',
      { body: `<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>${much}</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>` },
    ],
    [
      'the number of classes',
      {
        body: `<samlp:RequestedAuthnContext>${'<saml:AuthnContextClassRef>a</saml:AuthnContextClassRef>'.repeat(21)}</samlp:RequestedAuthnContext>`,
      },
    ],
  ])('%s', async (_name, parts) => {
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(authnRequest({ issuer: lax, ...parts }))))).toBe('xml_structure');
  });
});

/** Bytes of the largest message. */
const LARGEST = 65_536;
/** Returns a valid message of a size in bytes. */
function padded(size: number): string {
  const xml = authnRequest({ issuer: lax, body: '<samlp:Extensions> </samlp:Extensions>' });
  return xml.replace('> </samlp:Extensions>', `>${' '.repeat(size + 1 - xml.length)}</samlp:Extensions>`);
}

describe('I7: before a parser sees it', () => {
  test.each(attacks)('%s', async (_name, reason, prepare) => {
    expect(reasonOf(await unparsed(() => send(prepare())))).toBe(reason);
  });

  test('a compressed message in a form is accepted', async () => {
    const xml = signed(authnRequest({ issuer: wiki, destination: door.at().sso }), door.keys.wiki);
    expect(reasonOf(await sendPost(door.at().sso, { SAMLRequest: deflateRawSync(xml).toString('base64') }))).toBe('accepted');
  });

  test('a message as large as it may be is taken', async () => {
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(padded(LARGEST))))).toBe('accepted');
    expect(reasonOf(await sendRedirect(door.at().sso, redirectQuery(padded(LARGEST + 1))))).toBe('inflate_too_large');
  });
});

describe('I9, S12c: RelayState is at most 2,048 bytes, which means nothing here', () => {
  test.each([
    ['80 bytes, as the specification says', 'a'.repeat(80)],
    ['2,048 bytes, as service providers send', 'a'.repeat(2048)],
    ['2,048 bytes of UTF-8', 'é'.repeat(1024)],
    ['a URL of somebody else', 'https://evil.test/?a=b&c=d#e'],
    ['a script', '"><script>alert(1)</script>'],
    ['line breaks', 'a\r\nSet-Cookie: b=c'],
    ['a null character', 'a\u0000b'],
    ['characters beyond the basic plane', '💡'],
  ])('%s', async (_name, relayState) => {
    const request = () => authnRequest({ issuer: wiki, destination: door.at().sso });
    expect(await sendRedirect(door.at().sso, redirectQuery(request(), { by: door.keys.wiki, relayState }))).toMatchObject({ relayState });
    expect(await sendPost(door.at().sso, postFields(signed(request(), door.keys.wiki), { relayState }))).toMatchObject({ relayState });
  });

  test.each(['a'.repeat(2049), 'é'.repeat(1025)])('too long: %#', async (relayState) => {
    const send = [
      () => sendRedirect(door.at().sso, joined(redirectParameters(authnRequest({ issuer: keyless }), { relayState }))),
      () => sendPost(door.at().sso, postFields(authnRequest({ issuer: keyless }), { relayState })),
    ];
    for (const each of send) expect(reasonOf(await unparsed(each))).toBe('relay_state_too_long');
  });
});

if (process.env.PROVE)
  describe('I7, measured', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    /**
     * Returns the bytes in use after a collection. The size of the process would include garbage, and the test's client makes garbage too. Inflated data
     * that is already freed shows in the time.
     */
    const heldMemory = (): number => {
      // The first collection finds the buffers whose memory the second returns.
      collectGarbage();
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    /** Returns the median, because other work on the machine causes outliers. */
    const medianOf = (times: readonly number[]) => times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;

    // Koa alone needs longer to find the query in a URL of 1 MB. Node refuses such a URL by default.
    const measured = attacks.filter(([name]) => name !== 'a RelayState of 1 MB in a URL');
    test.each(measured)('%s: at most ten times the time of the largest message, and no memory', async (name, _reason, prepare) => {
      const both = [prepare(), inUrl(padded(LARGEST))] as const;
      for (let warm = 0; warm < 20; warm += 1) for (const each of both) await send(each);
      const before = heldMemory();
      tookMs.length = 0;
      // The two requests alternate, so that a busy machine slows both down.
      for (let round = 0; round < 50; round += 1) for (const each of both) await send(each);
      const grown = (heldMemory() - before) / MIB;
      const [took, largest] = [0, 1].map((which) => medianOf(tookMs.filter((_, index) => index % 2 === which))) as [number, number];
      process.stderr.write(`${name}: ${took.toFixed(2)} ms beside ${largest.toFixed(2)} ms, ${grown.toFixed(1)} MiB more\n`);
      expect(took).toBeLessThanOrEqual(10 * largest);
      expect(grown).toBeLessThan(20);
    });
  });
