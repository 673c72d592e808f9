import type { AccountClaims, ExtensionPseudonyms } from '../clients/account-claims.js';

/** The group `claims` of the context: claims of accounts, and pseudonyms of users, as a caller gets them. */
export interface ExtensionClaims extends AccountClaims {
  /** Undefined without the option `subjectSalt`. */
  readonly pseudonyms?: ExtensionPseudonyms;
}
