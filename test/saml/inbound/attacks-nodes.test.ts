/** Threats I1, I2 and I5 of the security reference, at three processes concurrently: a genuine message is used once, and a forgery of it never. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withServer } from '../../servers/when.js';
import { rawRequest } from '../../support/client/raw-request.js';
import type { Credentials } from '../../support/saml/inbound/credentials.js';
import { type SamlNode, startSamlNode } from '../../support/saml/inbound/node.js';
import { registeredOnes, wiki } from '../../support/saml/inbound/registered.js';
import { authnRequest, newId, postFields, redirectQuery, signed, uris } from '../../support/saml/inbound/sent-messages.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { atOnce } from '../../support/time/rounds.js';

/** Few rounds in the suite; `npm run prove` runs as many as the issue requires. */
const { rounds, uses } = process.env.PROVE ? { rounds: 200, uses: 50 } : { rounds: 3, uses: 12 };

const host = '127.0.0.1:3000';
const issuer = `http://${host}`;
const sso = `${issuer}/idp/saml/sso`;

withServer('REDIS_URL', (redis) =>
  describe('three nodes over Redis', () => {
    let nodes: readonly SamlNode[] = [];
    let by: Credentials;
    beforeAll(async () => {
      const { keys, rows } = await registeredOnes();
      by = keys.wiki;
      const { key, certificate } = await testKeyOf('identity provider');
      const registered = rows.filter(({ tid }) => tid === undefined);
      const settings = { redis, prefix: `saml-${randomUUID()}:`, issuer, keys: [{ key, certificate }], registered };
      nodes = await atOnce(3, () => startSamlNode(settings));
    });
    afterAll(() => {
      for (const node of nodes) node.kill();
    });

    interface Sent {
      readonly query?: string;
      readonly body?: string;
    }
    /** Returns `begun` if a sign-in begins, else the reason on the page. */
    async function outcomeAt(index: number, { query = '', body }: Sent): Promise<string> {
      const { origin } = nodes[index % nodes.length] as SamlNode;
      const lines = [`${body === undefined ? 'GET' : 'POST'} /idp/saml/sso?${query} HTTP/1.1`, `Host: ${host}`];
      const answer = await rawRequest(origin, [...lines, 'Content-Type: application/x-www-form-urlencoded'], body);
      if (answer.status === 303) return answer.head.includes('/connect/authorize?') ? 'begun' : answer.head;
      return /\b(replayed|not_signed|signature_\w+)\b/.exec(answer.body)?.[1] ?? `${answer.status}`;
    }

    const inForm = (xml: string): Sent => ({ body: String(new URLSearchParams(postFields(xml))) });
    const messageOf = (id: string, attributes = '') => authnRequest({ id, issuer: wiki, destination: sso, attributes });

    test(`one message × ${uses}, by both bindings, with forgeries of it between, × ${rounds}: one sign-in each`, async () => {
      for (let round = 0; round < rounds; round += 1) {
        const id = newId();
        const evil = 'AssertionConsumerServiceURL="https://evil.test/acs"';
        const inUrl = { query: redirectQuery(messageOf(id), { by }) };
        const posted = inForm(signed(messageOf(id), by));
        const captured = `<samlp:Extensions>${signed(messageOf(id), by)}</samlp:Extensions>`;
        const wrapped = inForm(authnRequest({ issuer: wiki, destination: sso, attributes: evil, body: captured }));
        const downgraded = { query: redirectQuery(messageOf(id), { by, algorithm: uris.rsaSha1 }) };
        const stripped = { query: redirectQuery(messageOf(id, evil)) };
        const kinds = [inUrl, posted, inUrl, posted, wrapped, downgraded, stripped];
        const outcomes = await atOnce(
          uses,
          async (index) => [index % kinds.length, await outcomeAt(index, kinds[index % kinds.length] as Sent)] as const,
        );

        const of = (...wanted: readonly number[]) => outcomes.flatMap(([kind, outcome]) => (wanted.includes(kind) ? outcome : []));
        const genuine = of(0, 1, 2, 3).sort();
        expect(genuine).toEqual(['begun', ...Array(genuine.length - 1).fill('replayed')]);
        expect(new Set(of(4))).toEqual(new Set(['signature_reference']));
        expect(new Set(of(5))).toEqual(new Set(['signature_alg_not_allowed']));
        expect(new Set(of(6))).toEqual(new Set(['not_signed']));
        expect(await atOnce(3, (index) => outcomeAt(index, inUrl))).toEqual(Array(3).fill('replayed'));
      }
    });
  }),
);
