/** What the directory is told of the links that mails carry: where they lead, and how long they are good. */
import { type InvitationRules, linkPages, type RecoveryRules } from '../directory/index.js';
import type { ResolvedOptions } from '../options/defaults.js';

export const invitationRulesOf = ({ issuer, paths, lifetimes, mail, personalTenant }: ResolvedOptions): InvitationRules => ({
  hasMail: mail !== undefined,
  personalTenant,
  lifetimeSeconds: lifetimes.invitation,
  urlOf: linkPages(issuer + paths.own).invitation,
});

export function recoveryRulesOf({ issuer, paths, lifetimes }: ResolvedOptions): RecoveryRules {
  const pages = linkPages(issuer + paths.own);
  return {
    resetSeconds: lifetimes.passwordReset,
    resetUrlOf: pages.reset,
    proofSeconds: lifetimes.emailProof,
    proofUrlOf: pages.proof,
    stopUrlOf: pages.stop,
  };
}
