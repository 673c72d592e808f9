/** Password resets in the admin API, for a help desk. */
import { randomUUID } from 'node:crypto';
import { defineErrors, defineOperation, type ExtensionContext, IdpError, type Operation } from '../../lib/extension-door.js';
import { type DueReset, RESET } from './records.js';

export const errors = defineErrors({
  user_privileged: {
    status: 403,
    description:
      'The user, or an account that is linked to it, may do more in the admin API than the caller. Ask an administrator who may do as much.',
  },
  reset_unavailable: {
    status: 409,
    description:
      'The user has no password to reset, because the user is not active, has a parent account, or may not use passwords. Invite the user, or reset the password of the parent account.',
  },
});

export const passwordOperations = ({ work: { mail, deliver } }: ExtensionContext): readonly Operation[] => [
  defineOperation({
    method: 'POST',
    path: '/tenants/{tid}/users/{id}/password-reset',
    scope: 'idp.users:write',
    summary: 'E-mails a reset link for the password to a user',
    errors: ['mail_not_configured', 'email_required', 'reset_unavailable', 'user_privileged'],
    async handle({ params, directory, administrator, by, newId }) {
      const { user } = await directory.forTenant(params.tid).users.require(params.id);
      const account = await directory.accounts.findByOid(user.id);
      if (!account) throw new IdpError('not_found');
      const { person } = account;
      if (!(await directory.privileges.mayBecome(administrator, person))) throw errors('user_privileged');
      if (!mail) throw new IdpError('mail_not_configured');
      if (!directory.passwordResets.isPossible(account)) throw errors('reset_unavailable');
      const address = directory.accounts.emailOf(person);
      if (address === undefined) throw new IdpError('email_required');
      const vouchedBy = await directory.means.voucher(params.tid, person);
      const due: DueReset = { oid: user.id, requestId: newId(), mailing: randomUUID(), by, vouchedBy, address };
      (await deliver(RESET, { ...due })).release();
    },
  }),
];
