/** Two tabs of one browser, each in the middle of a sign-in, take turns: each application gets the organisation that its tab shows. */
import { beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { type Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { redeem } from '../support/client/steps.js';
import { useIdp } from '../support/service/use-idp.js';

const STEPS = process.env.PROVE ? 2_000 : 120;
const service = useIdp();
const pkce = createPkce();
const tids = new Map<string, string>();
beforeAll(async () => {
  for (const { name, id } of await service.idp.directory.tenants.find()) tids.set(name, id);
});

/** Returns a generator of random choices, which are the same for the same seed. */
function drawn(seed: number): <T>(all: readonly T[]) => T {
  let state = seed;
  return (all) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return all[Math.floor((state / 0x80000000) * all.length)] as never;
  };
}

const isConsent = ({ body }: Answer): boolean => body.includes('name="decision"');
const choicesOn = ({ body }: Answer): string[] => [...body.matchAll(/name="choice" value="([^"]+)"/g)].map(([, choice = '']) => choice);
/** Returns the organisation that a page to allow access names. */
const organisationOn = ({ body }: Answer): string | undefined => [...tids.keys()].find((name) => new RegExp(`>\\s*${name}\\b`).test(body));

/** A tab with the pages that it has shown. The last page is open. */
class Tab {
  readonly pages: Answer[] = [];
  constructor(readonly agent: Agent) {}
  async open(): Promise<void> {
    const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
    const url = authorizeUrl(service.issuer, { client_id: 'third-party', prompt: 'select_account consent', ...challenge });
    this.pages.length = 0;
    this.pages.push(await this.agent.follow(await this.agent.get(url)));
  }
}

test('issue 14: two tabs that switch organisations get no token of one that the tab did not show', async () => {
  const draw = drawn(3);
  const { agent } = await obtainTokens(service.issuer);
  const tabs = [new Tab(agent), new Tab(agent)];
  for (const tab of tabs) await tab.open();
  const issued: string[] = [];
  let crossed = 0;
  let current: string | undefined;
  for (let step = 0; step < STEPS; step += 1) {
    const tab = draw(tabs);
    // The back button leads to the page before the last.
    const page = draw([tab.pages.at(-1), tab.pages.at(-1), tab.pages.at(-2) ?? tab.pages.at(-1)]) as Answer;
    const choices = choicesOn(page);
    if (isSignInPage(page) || (choices.length === 0 && !isConsent(page))) {
      await tab.open();
      continue;
    }
    const shown = organisationOn(page);
    if (isConsent(page) && shown !== current) crossed += 1;
    const fields: Record<string, string> = isConsent(page) ? { decision: 'allow' } : { choice: draw(choices) };
    const next = await agent.follow(await agent.post(formOf(page).action, { ...formOf(page).fields, ...fields }));
    const code = next.location === undefined ? undefined : membersOf(next).code;
    if (code === undefined) {
      if (isConsent(next)) current = organisationOn(next);
      tab.pages.push(next);
      continue;
    }
    expect(isConsent(page)).toBe(true);
    const { json } = await redeem(service.issuer, { client: 'third-party', code, verifier: pkce.verifier });
    expect(decodeJwt(json.id_token).tid).toBe(tids.get(shown ?? ''));
    issued.push(shown ?? '');
    await tab.open();
  }
  expect(new Set(issued)).toEqual(new Set(['Acme', 'Globex']));
  expect(crossed).toBeGreaterThan(0);
});
