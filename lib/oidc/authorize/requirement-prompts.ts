/** Requirements of extensions as prompts of oidc-provider, one after another, at every authorization request. */
import { errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../awaitable.js';
import type { Ask, Requirement } from '../../contract/sign-in/requirement.js';
import type { Accounts } from '../accounts/account.js';
import { authorizationRequestOf } from '../accounts/authorization-request.js';
import { judge, lastingAsk, ofSession } from '../accounts/requirements.js';
import { perContext } from '../artifacts/per-request.js';

const { Check, Prompt } = interactionPolicy;

/** Prefix of the prompts' names. `prompt` of a request cannot contain it. */
const PREFIX = 'requirement ';

/** Returns the requirement of a prompt. */
export const requirementOf = (prompt: string): string | undefined => (prompt.startsWith(PREFIX) ? prompt.slice(PREFIX.length) : undefined);

export function requirementPrompt(requirement: Requirement, accounts: Accounts) {
  const { name } = requirement;
  const isOpen = (ctx: KoaContextWithOIDC): Awaitable<boolean> => {
    const { session } = authorizationRequestOf(ctx);
    const ask = askOf(ctx);
    const loading = session.accountId ? accounts.load(ctx, session.accountId) : undefined;
    return onceThere(loading, (account) => {
      // Earlier prompts handle a missing account and a missing client.
      if (!account || !ask) return false;
      return onceThere(judge(requirement, account, ofSession(session), ask), (found) => {
        if (found === 'refused')
          throw new errors.AccessDenied(`The requirement ${name} refuses this sign-in. Ask the operator of the service what is missing.`);
        // An impersonator accepts and proves nothing in the name of the user. A requirement that an impersonation passes returns `met`.
        if (found === 'open' && session.act)
          throw new errors.AccessDenied(
            `The requirement ${name} needs a step of the user, and this sign-in is an impersonation. End the impersonation first.`,
          );
        return found === 'open';
      });
    });
  };
  return promptOf(requirement, isOpen);
}

/**
 * Returns the prompt before a choice among linked accounts. Only a user with a complete sign-in sees the linked accounts. Therefore requirements that do
 * not depend on the request come first.
 */
export const promptBeforeChoice = (requirement: Requirement, accounts: Accounts, isNext: (ctx: KoaContextWithOIDC) => Awaitable<boolean>) =>
  promptOf(requirement, (ctx) =>
    onceThere(isNext(ctx), (next) => {
      const { client, session } = authorizationRequestOf(ctx);
      if (!next || !client || !session.accountId || session.act) return false;
      return onceThere(accounts.load(ctx, session.accountId), (account) => {
        if (!account) return false;
        return onceThere(judge(requirement, account, ofSession(session), lastingAsk(client)), (found) => found === 'open');
      });
    }),
  );

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
