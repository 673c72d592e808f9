/** Threats H3, G9: a node is killed with `kill -9` between the writes of an acceptance. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { encryption, type InvitationNodeSettings } from '../support/administration/invitation-node.js';
import { invite, invitingSeed } from '../support/administration/invitations.js';
import { testKeys } from '../support/service/keys.js';
import { cheapPasswords } from '../support/service/seed.js';
import { codeOf, silentLogger } from '../support/service/test-directory.js';
import { withDurable } from '../support/stores/durable.js';
import { until } from '../support/time/until.js';

const ROUNDS = process.env.PROVE ? 13 : 1;
/** Writes of an acceptance: delivery enqueued, password offered, invitation accepted, password moved, row updated. */
const POINTS = process.env.PROVE ? [1, 2, 3, 4, 5, 6, 7, 8] : [3, 4];

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) =>
  describe('an acceptance is cut short', () => {
    const place = durable.place();
    let idp: IdentityProvider;
    let node: ChildProcess | undefined;
    beforeAll(async () => {
      idp = await createIdentityProvider({
        issuer: 'http://localhost:3000',
        directory: durable.at(place).directory,
        seed: invitingSeed as never,
        keys: { signing: testKeys, encryption },
        subjectSalt: 'salt of the test tenant identities',
        passwords: cheapPasswords,
        logger: silentLogger,
      });
    });
    afterAll(async () => {
      node?.kill('SIGKILL');
      await idp?.close();
    });

    /** Runs an acceptance in a process of its own. Returns undefined if the process was killed. */
    async function run(settings: Omit<InvitationNodeSettings, 'place'>): Promise<string | undefined> {
      const all: InvitationNodeSettings = { place, ...settings };
      node = fork(new URL('../support/administration/invitation-node.js', import.meta.url), [JSON.stringify(all)], {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      let outcome: string | undefined;
      node.on('message', (message: { outcome: string }) => {
        outcome = message.outcome;
      });
      await once(node, 'exit');
      return outcome;
    }

    test(`${ROUNDS} times after each of its writes: the link works again, or the user is active with that password`, async () => {
      const seen = new Set<string>();
      for (let round = 0; round < ROUNDS; round += 1)
        for (const killAfter of POINTS) {
          const { invitation, invitations, tid, userName } = await invite(idp);
          const password = `the password of the cut acceptance ${killAfter}`;
          const told = await run({ id: invitation.id, password, killAfter });
          const { acceptance, accounts, credentials } = idp.directory;
          const ref = { id: invitation.id, serial: 1 };
          const user = async () => (await idp.tenant(tid).users.findByUserName(userName))?.user;
          const works = async (one: string) => (await credentials.checkPassword(await accounts.candidates(userName), one)).length === 1;
          if ((await user())?.status === 'active') {
            seen.add('active');
            await until(() => works(password));
            expect([killAfter, await works(password), (await acceptance.open(ref))?.state]).toEqual([killAfter, true, 'accepted']);
            expect(await codeOf(acceptance.accept(ref, 'another password that is long'))).toBe('invitation_over');
            await until(async () => (await invitations.require(invitation.id)).status === 'accepted');
          } else {
            seen.add('invited');
            expect([killAfter, told, (await acceptance.open(ref))?.state]).toEqual([killAfter, undefined, 'pending']);
            await acceptance.accept(ref, 'another password that is long');
            expect([await works('another password that is long'), await works(password)]).toEqual([true, false]);
          }
        }
      expect([...seen].sort()).toEqual(['active', 'invited']);
    });
  }),
);
