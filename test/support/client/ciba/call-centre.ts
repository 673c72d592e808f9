/** A call centre: a client that sends CIBA requests to people, and the people who answer. */
import { beforeEach } from '@jest/globals';
import type { Approver, RequestDecision } from 'tenant-idp';
import type { TestIdpOptions } from '../../service/idp.js';
import { testSeed } from '../../service/seed.js';
import { type IdpInUse, useIdp } from '../../service/use-idp.js';
import { passTime } from '../../time/clock.js';
import { epochSeconds } from '../../time/epoch-seconds.js';
import { type Json, postForm } from '../agent.js';
import { credentialsOf } from '../endpoints.js';

export const CIBA_GRANT = 'urn:openid:params:grant-type:ciba';

/** A client with the CIBA grant, whose secret is `<id>-secret`. */
export const cibaClient = (id: string, { metadata = {}, ...more }: Readonly<Record<string, unknown>> = {}) => ({
  id,
  name: `Desk ${id}`,
  secret: `${id}-secret`,
  metadata: {
    grant_types: [CIBA_GRANT, 'refresh_token'],
    backchannel_token_delivery_mode: 'poll',
    ...(metadata as object),
  },
  allowedScopes: ['openid', 'profile', 'email', 'offline_access', 'orders.read'],
  ...more,
});

export const withClients = (...clients: readonly object[]) => ({ ...testSeed, clients: [...testSeed.clients, ...clients] }) as never;

export interface CibaAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

/** Returns the calls of a client, and the decisions of people. */
export const callsTo = ({ idp, issuer }: Pick<IdpInUse, 'idp' | 'issuer'>) => {
  const accountOf = async (userName: string) => {
    const [account] = await idp.directory.accounts.candidates(userName);
    if (!account) throw new Error(`${userName} is nobody`);
    return { oid: account.person.user.id, tid: account.tenant.id, personId: account.person.id };
  };
  const ask = (fields: Record<string, string> = {}, client = 'desk'): Promise<CibaAnswer> =>
    postForm(`${issuer}/connect/ciba`, { scope: 'openid', ...fields }, credentialsOf(client));
  const poll = (authReqId: string, client = 'desk'): Promise<CibaAnswer> =>
    postForm(`${issuer}/connect/token`, { grant_type: CIBA_GRANT, auth_req_id: authReqId }, credentialsOf(client));
  const newestOf = async (userName: string) => {
    const [request] = await idp.ciba.pendingOf((await accountOf(userName)).oid);
    if (!request) throw new Error(`nothing waits for ${userName}`);
    return request;
  };
  const approverOf = async (userName: string, more: Partial<Approver> = {}): Promise<Approver> => ({
    oid: (await accountOf(userName)).oid,
    amr: ['pwd'],
    idp: 'local',
    authTime: epochSeconds(),
    ...more,
  });
  return {
    accountOf,
    ask,
    poll,
    newestOf,
    approverOf,
    /** Approves the newest request. */
    approve: async (userName: string, more?: Partial<Approver>): Promise<RequestDecision> =>
      idp.ciba.approve((await newestOf(userName)).id, await approverOf(userName, more)),
    deny: async (userName: string): Promise<RequestDecision> => idp.ciba.deny((await newestOf(userName)).id, 'declined'),
    /** Sends a request, approves it, and returns its `auth_req_id`. */
    async approved(fields: Record<string, string> = {}, client = 'desk', userName = 'alice@acme.test'): Promise<string> {
      const { status, json } = await ask({ login_hint: userName, ...fields }, client);
      if (status !== 200) throw new Error(JSON.stringify(json));
      const decision = await this.approve(userName);
      if (decision.outcome !== 'decided') throw new Error(decision.outcome);
      return json.auth_req_id;
    },
  };
};

/** Seconds after which a request of the previous test is neither stored nor counted. */
const ANEW_SECONDS = 2000;
let tests = 0;

/** Starts a service with call centres, for the tests of a file. Each test begins when requests of the previous test no longer count. */
export function useCallCentre(
  options: TestIdpOptions | (() => TestIdpOptions | Promise<TestIdpOptions>) = { seed: withClients(cibaClient('desk')) },
) {
  const service = useIdp(options);
  beforeEach(() => {
    tests += 1;
    passTime(tests * ANEW_SECONDS);
  });
  return service;
}

/** Sets the clock to so many seconds after the beginning of the test. */
export const laterInTest = (seconds: number): void => passTime(tests * ANEW_SECONDS + seconds);
