/**
 * Parts that extensions add to the service, created from the contexts of extensions.
 *
 * The directory and the protocol are created before the contexts, and need these parts while they answer requests. Each part is therefore created on first
 * use. If a part is needed too early, an error states this.
 */
import { withAdditions } from '../contract/assembly/added-configuration.js';
import {
  adminApiOf,
  byExtension,
  clientEndpointOf,
  discoveryOf,
  endImpersonationAtOf,
  grantTypesOf,
  impersonationRulesOf,
  lettersOf,
  operationsOf,
  pagesOf,
  seedPiecesOf,
} from '../contract/assembly/contributions.js';
import { createSignInOffers } from '../contract/assembly/sign-in-offers.js';
import type { Extension } from '../contract/extension.js';
import type { ContextOf } from '../contract/extension-context.js';
import type { WriteLetter } from '../contract/pages/letter.js';
import type { ShowPage } from '../contract/pages/protocol-page.js';
import { routes } from '../oidc/configuration.js';
import { late } from './late.js';

export type Additions = ReturnType<typeof createAdditions>;

export function createAdditions(extensions: readonly Extension[]) {
  const contexts = late<ContextOf>('the contexts of extensions');
  const contextOf: ContextOf = (name) => contexts.value(name);
  const pages = once(() => pagesOf(extensions, contextOf));
  const letters = once(() => lettersOf(extensions, contextOf));
  const operations = once(() => operationsOf(extensions, contextOf));
  const impersonationsOf = byExtension(extensions, contextOf, 'impersonation');
  const showPage: ShowPage = (ctx, page) => pages()(ctx, page);
  const writeLetter: WriteLetter = (letter, look) => letters()(letter, look);
  return {
    /** Gives the contexts, and creates the parts that every service has. @throws the errors of extensions. */
    giveContexts(given: ContextOf): void {
      contexts.give(given);
      pages();
      letters();
    },
    offers: createSignInOffers(extensions),
    showPage,
    writeLetter,
    operations,
    /** The admin API as an API resource. */
    ownApi: once(() => adminApiOf(operations())),
    participants: byExtension(extensions, contextOf, 'logoutParticipant'),
    /** Rules of extensions for impersonations, by the extension that began the impersonation. */
    impersonationsOf,
    impersonationRules: impersonationRulesOf(impersonationsOf),
    endImpersonationAt: endImpersonationAtOf(extensions, contextOf),
    clients: byExtension(extensions, contextOf, 'clients'),
    backchannel: clientEndpointOf(extensions, contextOf),
    grantTypes: grantTypesOf(extensions, contextOf),
    configuration: <C extends object>(configuration: C): C => withAdditions(configuration, extensions, contextOf),
    /** Members of the discovery document. */
    discovery: once(() => discoveryOf(extensions, contextOf, [...Object.keys(routes), 'backchannel_authentication'])),
    seedPieces: seedPiecesOf(extensions, contextOf),
  };
}

/** Creates a value on first use. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
