/** Invitations: the mail with the invitation link, the pages of the invitation link, and the operations of the admin API. */
import type { Extension } from '../../lib/extension-door.js';
import { createApplications } from './applications.js';
import { invitationLetter } from './letter.js';
import { errors, invitationOperations } from './operations.js';
import { acceptanceKind, admissionKind } from './pages.js';
import { invitationRoutes } from './routes.js';
import { texts } from './texts/index.js';

export const invitations = (): Extension => ({
  name: 'invitations',
  errorCodes: errors.codes,
  artifacts: [admissionKind, acceptanceKind],
  texts,
  routes: invitationRoutes,
  clients: createApplications,
  resources: invitationOperations,
  start(context) {
    const {
      directory,
      work: { mail },
    } = context;
    directory.onInvitationDue(async (due) => {
      if (!mail) throw new Error('there is no mail to send the invitation by');
      await mail.send(await invitationLetter(context, due));
    });
  },
});
