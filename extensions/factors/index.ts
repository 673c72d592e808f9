/** Second factors: authenticator apps, passkeys, recovery codes. A passkey is also a sign-in method by itself. */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { createFactorsPageClients, FactorsPage, pathOf } from './factors-page.js';
import { errors, factorOperations } from './operations.js';
import { PasskeySignIn } from './passkeys/sign-in.js';
import { offersPasskeys, Webauthn } from './passkeys/webauthn.js';
import { factors as collection, passkeyChoices, pendingApps, provenSignIns, seenSignIns, spentChallenges } from './records.js';
import { createSecondFactor } from './requirement.js';
import { texts } from './texts/index.js';
import { type FactorChange, FIRST_FACTOR, REMOVED_FACTOR, UserFactors } from './user-factors.js';

/** The parts of one service. */
const partsOf = perContext((context) => {
  const userFactors = new UserFactors(context);
  const webauthn = offersPasskeys(context.service.issuer) ? new Webauthn(context) : undefined;
  return {
    userFactors,
    secondFactor: createSecondFactor(context, userFactors, webauthn),
    ...(webauthn && { passkeySignIn: new PasskeySignIn(context, userFactors, webauthn) }),
    factorsPage: new FactorsPage(context, userFactors, webauthn),
  };
});

export function factors(): Extension {
  return {
    name: 'factors',
    errorCodes: errors.codes,
    collections: [collection],
    deliveries: (context) => ({
      [FIRST_FACTOR]: ({ data }) => partsOf(context).userFactors.endAfterFirst(data as unknown as FactorChange),
      [REMOVED_FACTOR]: ({ data }) => partsOf(context).userFactors.endAfterRemoval(data as unknown as FactorChange),
    }),
    health: (context) => partsOf(context).userFactors.problems(),
    artifacts: [pendingApps, provenSignIns, seenSignIns, spentChallenges, passkeyChoices],
    events: ['FactorAdded', 'FactorRemoved', 'FactorCodesGuessed', 'PasskeyCounterWentBack'],
    texts,
    routes(router, context) {
      const { secondFactor, passkeySignIn, factorsPage } = partsOf(context);
      secondFactor.routes(router);
      passkeySignIn?.routes(router);
      factorsPage.routes(router);
    },
    requirements: (context) => [partsOf(context).secondFactor.requirement],
    start(context) {
      const { userFactors, passkeySignIn } = partsOf(context);
      if (passkeySignIn) context.directory.waysIn.addSource((account) => userFactors.waysOf(account));
    },
    signInMethods: (context) => {
      const { passkeySignIn } = partsOf(context);
      return passkeySignIn ? [passkeySignIn.method] : [];
    },
    accountSections: [
      {
        name: 'factors',
        group: 'signIn',
        title: 'factors.own.title',
        summary: 'factors.own.summary',
        href: ({ service }) => service.url(pathOf(service)),
      },
    ],
    clients: createFactorsPageClients,
    resources: (context) => factorOperations(context, partsOf(context).userFactors),
  };
}
