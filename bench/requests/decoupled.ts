/** Decoupled sign-in (CIBA): a client asks a person, and gets tokens after the person approved. */
import { callerName, chorePaths } from '../servers/chores.js';
import { authorizationOf } from '../world.js';
import type { Connection } from './connection.js';
import type { Row } from './row.js';

/**
 * Number of persons. If there are enough persons, each person is asked once. The service replaces a pending request of a person, and refuses the sixth
 * request.
 */
const PEOPLE = 10_000;

const authorization = authorizationOf('call-centre');

/** Number of the person who was asked longest ago, for each issuer. */
const asked = new Map<string, number>();
function nextOf({ issuer }: Connection): string {
  const index = asked.get(issuer) ?? 0;
  asked.set(issuer, index + 1);
  return callerName(index % PEOPLE);
}

/** Persons of an issuer, created once. */
const made = new Map<string, Promise<unknown>>();
function havePeople(connection: Connection): Promise<unknown> {
  const making = made.get(connection.issuer) ?? connection.get(chorePaths.people(PEOPLE));
  made.set(connection.issuer, making);
  return making;
}

/** @returns the `auth_req_id`. */
async function ask(connection: Connection, userName: string): Promise<string> {
  const fields = { scope: 'openid profile', login_hint: userName, binding_message: 'W4SCT' };
  const { body } = await connection.post('/connect/ciba', fields, { authorization });
  return (JSON.parse(body) as { auth_req_id: string }).auth_req_id;
}

const redemptionOf = (authReqId = '') => ({ grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: authReqId });

export const decoupledRows: readonly Row[] = [
  {
    name: 'CIBA request',
    goal: 0.65,
    settles: true,
    async prepare(connection) {
      await havePeople(connection);
      return async () => {
        await ask(connection, nextOf(connection));
      };
    },
  },
  {
    name: 'CIBA poll, pending',
    settles: true,
    async prepare(connection) {
      await havePeople(connection);
      const pending: string[] = [];
      const poll = () => connection.refused('authorization_pending', '/connect/token', redemptionOf(pending.pop()), { authorization });
      return Object.assign(poll, {
        async supply(passes: number) {
          while (pending.length < passes) pending.push(await ask(connection, nextOf(connection)));
        },
      });
    },
  },
  {
    name: 'CIBA redemption',
    settles: true,
    async prepare(connection) {
      await havePeople(connection);
      const approved: string[] = [];
      const redeem = async () => {
        const { body } = await connection.post('/connect/token', redemptionOf(approved.pop()), { authorization });
        if (!body.includes('"id_token"')) throw new Error(`the token endpoint answered ${body}`);
      };
      return Object.assign(redeem, {
        async supply(passes: number) {
          while (approved.length < passes) {
            const userName = nextOf(connection);
            const authReqId = await ask(connection, userName);
            await connection.get(chorePaths.approve(userName, authReqId));
            approved.push(authReqId);
          }
        },
      });
    },
  },
];
