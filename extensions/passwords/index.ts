/** Forgotten passwords, proofs of e-mail addresses, and mails about changes to an account. */
import type { Extension } from '../../lib/extension-door.js';
import { emailLinkRoutes, stopLinkRoutes } from './email-link.js';
import { forgottenPath, forgottenRoutes } from './forgotten.js';
import { createSendNotice, listenForChanges } from './notices.js';
import { errors, passwordOperations } from './operations.js';
import { createSendProof, ownEmailClient, ownEmailPage, ownEmailRoutes } from './own-email.js';
import { changePasswordRoute, hasOwnPassword, ownPasswordClient, ownPasswordPath, ownPasswordRoutes } from './own-password.js';
import {
  ADDRESS,
  addressBrowsers,
  LOOK_UP,
  NOTICE,
  RESET,
  resetBrowsers,
  resetRequests,
  sentNotices,
  usedLinks,
  wantedAddresses,
} from './records.js';
import { resetLinkRoutes } from './reset-link.js';
import { createResets } from './resets.js';
import { texts } from './texts/index.js';
import { createThrottle } from './throttle.js';

export const passwords = (): Extension => ({
  name: 'passwords',
  errorCodes: errors.codes,
  artifacts: [resetRequests, wantedAddresses, addressBrowsers, resetBrowsers, usedLinks, sentNotices],
  texts,
  pageAdditions: [
    {
      name: 'forgotten-password',
      place: 'password',
      text: 'passwords.forgotten.link',
      href: ({ uid }, { service: { own, url }, work }) => (work.mail ? url(forgottenPath(own, uid)) : undefined),
    },
  ],
  accountSections: [
    {
      name: 'password',
      group: 'signIn',
      title: 'passwords.own.title',
      summary: 'passwords.own.summary',
      isFor: hasOwnPassword,
      href: ({ service }) => service.url(ownPasswordPath(service)),
    },
    {
      name: 'email',
      group: 'signIn',
      title: 'passwords.email.title',
      summary: 'passwords.email.summary',
      href: ({ service: { own, url }, work }) => (work.mail ? url(`${own}/email`) : undefined),
    },
  ],
  clients: (context) => {
    const all = [ownEmailClient(context), ownPasswordClient(context)];
    return { find: async (id) => (await Promise.all(all.map((clients) => clients.find(id)))).find((client) => client !== undefined) };
  },
  resources: passwordOperations,
  routes(router, context) {
    const throttle = createThrottle(context);
    forgottenRoutes(router, context, throttle);
    resetLinkRoutes(router, context, throttle);
    ownPasswordRoutes(router, context, throttle);
    changePasswordRoute(router, context);
    const ownPage = ownEmailPage(context);
    ownEmailRoutes(router, context, throttle, ownPage);
    emailLinkRoutes(router, context, ownPage);
    stopLinkRoutes(router, context);
  },
  deliveries(context) {
    const { mail } = context.work;
    const notice = { [NOTICE]: createSendNotice(context, mail) };
    if (!mail) return notice;
    const resets = createResets(context, createThrottle(context));
    return { ...notice, [LOOK_UP]: resets.lookUp, [RESET]: resets.send(mail), [ADDRESS]: createSendProof(context, mail) };
  },
  start: listenForChanges,
});
