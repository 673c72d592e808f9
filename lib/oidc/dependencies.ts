import type { Middleware } from 'koa';
import type { ClaimResolver } from '../claim-resolver.js';
import type { Directory } from '../directory/index.js';
import type { ShowPage } from '../extension.js';
import type { GuardedFetch } from '../guarded-fetch.js';
import type { CountWrongSecret } from '../http/wrong-secrets.js';
import type { Logger } from '../logger.js';
import type { ResolvedOptions } from '../options-defaults.js';
import type { RemoteDocuments } from '../remote-documents.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { Keyring } from '../store/keyring.js';
import type { Browsers } from './browser.js';
import type { BrowserState } from './browser-state.js';
import type { ClientKeySets } from './client-key-sets.js';
import type { SigningKeys } from './keys.js';
import type { ModelAdapters } from './model-adapter.js';
import type { Pseudonyms } from './subject.js';

/** What the parts of the protocol are made from. */
export interface OidcDependencies {
  readonly options: ResolvedOptions;
  readonly artifacts: ArtifactStore;
  readonly directory: Directory;
  readonly keyring: Keyring;
  readonly claims: ClaimResolver;
  readonly keys: SigningKeys;
  readonly browsers: Browsers;
  /** The only way out: to URLs that clients registered. */
  readonly fetch: GuardedFetch;
  /** What is read at such URLs. */
  readonly remote: RemoteDocuments;
  readonly clientKeySets: ClientKeySets;
  /** Reads a posted form into `ctx.request`. */
  readonly readForm: Middleware;
  readonly countWrongSecret: CountWrongSecret;
  readonly logger: Logger;
  readonly showPage: ShowPage;
}

/** {@link OidcDependencies} and what is made from them once. */
export interface OidcParts extends OidcDependencies {
  readonly adapters: ModelAdapters;
  readonly browserState: BrowserState;
  /** Undefined without a salt: then no client is pairwise. */
  readonly pseudonyms: Pseudonyms | undefined;
}
