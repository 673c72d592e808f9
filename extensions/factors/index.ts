/** Second factors: authenticator apps, passkeys, recovery codes. A passkey is a way to sign in by itself as well. */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { Enrolled, FIRST } from './enrolled.js';
import { createFactorsPageClients, FactorsPage, pathOf } from './factors-page.js';
import { errors, factorOperations } from './operations.js';
import { PasskeySignIn } from './passkeys/sign-in.js';
import { offersPasskeys, Webauthn } from './passkeys/webauthn.js';
import { choosing, factors as collection, pending, proven, seen, spent } from './records.js';
import { createSecondFactor } from './requirement.js';
import { texts } from './texts/index.js';

/** The parts of one service. */
const partsOf = perContext((context) => {
  const enrolled = new Enrolled(context);
  const webauthn = offersPasskeys(context.service.issuer) ? new Webauthn(context) : undefined;
  return {
    enrolled,
    secondFactor: createSecondFactor(context, enrolled, webauthn),
    ...(webauthn && { passkeySignIn: new PasskeySignIn(context, enrolled, webauthn) }),
    factorsPage: new FactorsPage(context, enrolled, webauthn),
  };
});

export function factors(): Extension {
  return {
    name: 'factors',
    errorCodes: errors.codes,
    collections: [collection],
    deliveries: (context) => ({
      [FIRST]: ({ data }) => partsOf(context).enrolled.endOthers(data as unknown as Parameters<Enrolled['endOthers']>[0]),
    }),
    health: (context) => partsOf(context).enrolled.problems(),
    artifacts: [pending, proven, seen, spent, choosing],
    events: ['FactorAdded', 'FactorRemoved', 'FactorCodesGuessed', 'PasskeyCounterWentBack'],
    texts,
    routes(router, context) {
      const { secondFactor, passkeySignIn, factorsPage } = partsOf(context);
      secondFactor.routes(router);
      passkeySignIn?.routes(router);
      factorsPage.routes(router);
    },
    requirements: (context) => [partsOf(context).secondFactor.requirement],
    signInMethods: (context) => {
      const { passkeySignIn } = partsOf(context);
      return passkeySignIn ? [passkeySignIn.method] : [];
    },
    accountSections: [
      {
        name: 'factors',
        title: 'factors.own.title',
        summary: 'factors.own.summary',
        href: ({ service }) => service.url(pathOf(service)),
      },
    ],
    clients: createFactorsPageClients,
    resources: (context) => factorOperations(context, partsOf(context).enrolled),
  };
}
