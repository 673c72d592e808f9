import { describe, expect, jest, test } from '@jest/globals';
import Provider, { type Configuration, interactionPolicy } from 'oidc-provider';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { SIGN_IN_ENDED } from '../../../lib/oidc/upstream/interaction.js';
import { createHookedProvider } from '../../../lib/oidc/upstream/provider.js';
import { configuration, expectInOrder, hooked, hooks, issuer, type Untyped } from './pinned.js';

const { Check, Prompt, base } = interactionPolicy;

/** Returns the policy that a provider reads, and the policy that was configured. */
function policies(...prompts: interactionPolicy.Prompt[]) {
  const given = base();
  given.clear();
  for (const prompt of prompts) given.add(prompt);
  const configured: Configuration = { ...configuration(), interactions: { policy: given } };
  return { given, configured, read: insideOf(createHookedProvider(issuer, configured, hooks)).configuration.interactions.policy };
}

const says = (reason: string, answer: () => boolean | Promise<boolean>) => new Check(reason, reason, 'login_required', answer);
const named = (name: string, ...checks: interactionPolicy.Check[]) => new Prompt({ name, requestable: false }, ...checks);

/** Returns the members of the policy as a request reads them. */
function inRequest(read: Iterable<Untyped>): readonly Untyped[] {
  const ctx = jest.spyOn(Provider, 'ctx', 'get').mockReturnValue({ oidc: {} } as Untyped);
  try {
    return [...read];
  } finally {
    ctx.mockRestore();
  }
}

describe('Interaction', () => {
  test('one that begins gets two arguments, one that is found gets its record alone', () => {
    expectInOrder('models/interaction.js', 'constructor(jti, payload)', 'if (payload !== undefined)', 'super(jti)');
    expectInOrder('models/base_model.js', 'return new this(payload)');
    const record = { jti: 'uid', kind: 'Interaction', browser: 'another' };
    expect(new hooked.Interaction(record)).toMatchObject({ uid: 'uid', browser: 'another' });
    expect(new hooked.Interaction('uid', {})).toMatchObject({ uid: 'uid', browser: 'browser' });
  });

  test('resuming finds it by the cookie, before it ends it or signs anybody in', () => {
    expectInOrder(
      'actions/authorization/resume.js',
      "ctx.oidc.provider.cookieName('resume')",
      'await ctx.oidc.provider.Interaction.find(cookieId)',
      'throw new errors.SessionNotFound(',
      'await interactionSession.destroy()',
      'session.loginAccount(',
    );
    expectInOrder('helpers/initialize_app.js', 'resume', ':uid');
  });

  test('one in place of a sign-in that has ended is bound to no session, because one whose session is gone is refused', () => {
    expectInOrder(
      'provider.js',
      'if (interaction.session?.uid) {',
      'findByUid(interaction.session.uid)',
      "throw new SessionNotFound('session not found')",
    );
    expectInOrder('actions/authorization/resume.js', 'if (originSession?.uid && originSession.uid !== session.uid)');
    const session = { accountId: 'alice', uid: 'session' };
    const payload = { session, prompt: { name: 'login', reasons: [SIGN_IN_ENDED] } };
    expect(new hooked.Interaction('uid', payload)).toMatchObject({ session: undefined });
    expect(new hooked.Interaction('uid', { ...payload, prompt: { name: 'login', reasons: ['login_prompt'] } })).toMatchObject({ session });
  });

  test('its uid is 43 characters of the URL alphabet', () => {
    expectInOrder('actions/authorization/interactions.js', 'const uid = nanoid()');
    expectInOrder('helpers/nanoid.js', 'customAlphabet(urlAlphabet, 43)');
  });
});

describe('the policy of interactions', () => {
  test('prompts are read in their order, one after another, and of each its name, its details and its checks', () => {
    expectInOrder(
      'actions/authorization/interactions.js',
      'instance(oidc.provider).configuration.interactions;',
      'for (const { name, checks, details: promptDetails } of policy) {',
      'await Promise.all([...checks].map(async ({',
      'reason, description, error, details, check,',
      'await check(ctx),',
      'break;',
    );
  });

  test('a request does not read what asks for nothing, nor a prompt without a check that asks', async () => {
    const asked: string[] = [];
    const note = (name: string, answer: boolean | Promise<boolean>) =>
      says(name, () => {
        asked.push(name);
        return answer;
      });
    const { read } = policies(
      named('one', note('no', false)),
      named('two', note('never', false), note('later', Promise.resolve(true)), note('yes', true)),
    );
    const [two, ...others] = inRequest(read);
    expect([others, two.name, two.checks.map(({ reason }: Untyped) => reason)]).toEqual([[], 'two', ['later', 'yes']]);
    expect(await Promise.all(two.checks.map(({ check }: Untyped) => check()))).toEqual([true, true]);
    expect(asked).toEqual(['no', 'never', 'later', 'yes']);
  });

  test('what a check throws is for who waits for it, and no promise beside it is left alone', async () => {
    const { read } = policies(
      named(
        'one',
        says('rejects', () => Promise.reject(new Error('first'))),
        says('throws', () => {
          throw new Error('second');
        }),
      ),
    );
    const [{ checks }] = inRequest(read);
    const outcomes = await Promise.allSettled(checks.map(async ({ check }: Untyped) => check()));
    expect(outcomes.map(({ reason }: Untyped) => reason.message)).toEqual(['first', 'second']);
  });

  test('outside of a request, and in the policy that was given, nothing is left out', () => {
    const { given, configured, read } = policies(
      named(
        'one',
        says('no', () => false),
      ),
    );
    expect([...read].map(({ name }: Untyped) => name)).toEqual(['one']);
    expect([given.map(({ name }) => name), configured.interactions?.policy === given]).toEqual([['one'], true]);
  });
});
