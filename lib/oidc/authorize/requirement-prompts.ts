/** Requirements of extensions as prompts of oidc-provider, one after another, at every authorization request. */
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../awaitable.js';
import type { Ask, Requirement } from '../../contract/sign-in/requirement.js';
import type { Account } from '../../directory/index.js';
import type { Accounts } from '../accounts/account.js';
import { authorizationRequestOf } from '../accounts/authorization-request.js';
import { judge, lastingAsk, ofSession } from '../accounts/requirements.js';
import { perContext, perRequest } from '../artifacts/per-request.js';

const { Check, Prompt } = interactionPolicy;

/** Prefix of the prompts' names. `prompt` of a request cannot contain it. */
const PREFIX = 'requirement ';

/** Returns the requirement of a prompt. */
export const requirementOf = (prompt: string): string | undefined => (prompt.startsWith(PREFIX) ? prompt.slice(PREFIX.length) : undefined);

export function requirementPrompt(requirement: Requirement, accounts: Accounts) {
  const { name } = requirement;
  const judgement = judgedOnce((ctx) => {
    const { session } = authorizationRequestOf(ctx);
    const ask = askOf(ctx);
    const loading = session.accountId ? accounts.load(ctx, session.accountId) : undefined;
    // Earlier prompts handle a missing account and a missing client.
    return onceThere(loading, (account) => {
      if (!account || !ask) return undefined;
      const judged = (each: Account) => judge(requirement, each, ofSession(session), ask);
      return onceThere(judged(account), (found) => (found === 'met' ? found : judgedInStore(accounts, ctx, account, found, judged)));
    });
  });
  return promptOf(requirement, (ctx) =>
    onceThere(judgement(ctx), (found) => {
      if (found === 'refused')
        throw new errors.AccessDenied(`The requirement ${name} refuses this sign-in. Ask the operator of the service what is missing.`);
      // An impersonator accepts and proves nothing in the name of the user. A requirement that an impersonation passes returns `met`.
      if (found === 'open' && authorizationRequestOf(ctx).session.act)
        throw new errors.AccessDenied(
          `The requirement ${name} needs a step of the user, and this sign-in is an impersonation. End the impersonation first.`,
        );
      return found === 'open';
    }),
  );
}

/**
 * Returns the prompt before a choice among linked accounts. Only a user with a complete sign-in sees the linked accounts. Therefore requirements that do
 * not depend on the request come first.
 */
export function promptBeforeChoice(requirement: Requirement, accounts: Accounts, isNext: (ctx: KoaContextWithOIDC) => Awaitable<boolean>) {
  const judgement = judgedOnce((ctx) =>
    onceThere(isNext(ctx), (next) => {
      const { client, session } = authorizationRequestOf(ctx);
      if (!next || !client || !session.accountId || session.act) return undefined;
      const loading = accounts.loadFresh(ctx, session.accountId);
      return onceThere(loading, (account) => account && judge(requirement, account, ofSession(session), lastingAsk(client)));
    }),
  );
  return promptOf(requirement, (ctx) => onceThere(judgement(ctx), (found) => found === 'open'));
}

/** Returns a judgement that asks for a page, or refuses, for the account as it is in the store. The account may be of a row that the node has cached. */
const judgedInStore = (
  accounts: Accounts,
  ctx: KoaContextWithOIDC,
  account: Account,
  found: 'open' | 'refused',
  judged: (account: Account) => Awaitable<'met' | 'open' | 'refused'>,
): Judgement =>
  onceThere(accounts.loadFresh(ctx, account.person.user.id), (stored = account) =>
    isSameVersion(stored, account) ? found : judged(stored),
  );

const isSameVersion = (one: Account, other: Account): boolean =>
  one.person.version === other.person.version && one.owner?.person.version === other.owner?.person.version;

type Judgement = Awaitable<Awaited<ReturnType<typeof judge>> | undefined>;

/** Returns a function that asks the extension once in a request, although the plain door may leave the request to oidc-provider after it asked. */
const judgedOnce = (ask: (ctx: KoaContextWithOIDC) => Judgement): ((ctx: KoaContextWithOIDC) => Judgement) =>
  perRequest((ctx) => {
    try {
      return ask(ctx);
    } catch (error) {
      return Promise.reject(error);
    }
  });

const promptOf = ({ name, error }: Requirement, isOpen: (ctx: KoaContextWithOIDC) => Awaitable<boolean>) =>
  new Prompt(
    { name: PREFIX + name, requestable: false },
    new Check(name, `${name} is required of the user. Send the request without prompt=none.`, error, isOpen),
  );

/** Returns the same value for every requirement of a request. */
const askOf = perContext((ctx: KoaContextWithOIDC): Ask | undefined => {
  const { client, params, acr } = authorizationRequestOf(ctx);
  const { scope } = params;
  let parameters: Ask['parameters'] | undefined;
  return (
    client && {
      client,
      scopes: typeof scope === 'string' ? scope.split(' ').filter(Boolean) : [],
      /** Parameters with one text value, computed on first use because few requirements read them. */
      get parameters() {
        parameters ??= Object.fromEntries(Object.entries(params).filter(isText));
        return parameters;
      },
      acr,
      isSilent: false,
    }
  );
});

const isText = (entry: readonly [name: string, value: unknown]): entry is [string, string] => typeof entry[1] === 'string';
