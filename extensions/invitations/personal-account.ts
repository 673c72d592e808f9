/** A personal account that is made for an invitation where the service has no mail. With mail, the registration of the sign-in pages makes it. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  form,
  formField,
  hashingQueuesOf,
  IdpError,
  type PersonNames,
  type RegistrationProblem,
  type Text,
  typedField,
} from '../../lib/extension-door.js';
import type { AdmissionParts, Admissions, Admitted } from './admission.js';
import { limits } from './applications.js';
import { type CreateForm, ofRules } from './pages.js';

const DAY_MS = 86_400_000;

export function personalAccountRoutes(
  router: Router,
  context: ExtensionContext,
  { base, pages }: AdmissionParts,
  admissions: Admissions,
): void {
  const {
    directory,
    impersonation: { inPerson },
    limits: { attempts },
    service: { logger, now },
    http: { requestId },
  } = context;
  const { at, admittedTo, signInThere } = admissions;

  router.get(`${base}/create`, inPerson, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    if (!found) return;
    await showCreate(ctx, found, namesOf(found.opened.person));
  });

  async function showCreate(
    ctx: Context,
    { opened, personal }: Admitted,
    values: Partial<CreateForm['values']>,
    more: { readonly problem?: Text; readonly problems?: Required<CreateForm>['problems']; readonly status?: number } = {},
  ): Promise<void> {
    const rules = await directory.forTenant(personal.id).registration.rules('invitation');
    if (!rules) return pages.lost(ctx);
    const { email = '' } = opened.person;
    await pages.create(ctx, opened, personal, {
      action: at('create', opened.ref),
      values: { givenName: '', familyName: '', email, ...values },
      ...rules,
      ...more,
    });
  }

  router.post(`${base}/create`, inPerson, form, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    if (!found) return;
    const { opened, personal } = found;
    if (!pages.isOfForm(ctx, opened.ref, formField(ctx, 'csrf'))) return pages.foreign(ctx, opened);
    const givenName = typedField(ctx, 'givenName', 'personName');
    const familyName = typedField(ctx, 'familyName', 'personName');
    const email = typedField(ctx, 'email', 'address');
    const input = { givenName, familyName, email, password: formField(ctx, 'password') };
    const refused = (more: Parameters<typeof showCreate>[3]) => showCreate(ctx, found, input, more);
    const { eventMetadata: metadata } = opened;
    const { registration } = directory.as(metadata ? { metadata } : {}).forTenant(personal.id);
    const taken = { status: 400, problems: { email: 'invitations.create.taken' } };
    const forms = await attempts(JSON.stringify(['invitation forms', opened.ref.id]), DAY_MS);
    if (forms.count > limits.forms) return refused({ status: 429, problem: 'invitations.create.often' });
    const busy = (error: IdpError) => {
      ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
      return refused({ status: 503, problem: 'invitations.accept.busy' });
    };
    const problems = await registration.problems(input).catch((error: unknown) => {
      if (IdpError.is(error, 'busy')) return error;
      throw error;
    });
    if (problems instanceof IdpError) return busy(problems);
    if (problems.length > 0) return refused({ status: 400, problems: Object.fromEntries(problems.map(problemOf)) });
    const counter = JSON.stringify(['invitation accounts', opened.ref.id]);
    if ((await attempts(counter, DAY_MS)).count > limits.accounts) return refused({ status: 429, problem: 'invitations.create.often' });
    const createdAt = new Date(now());
    try {
      const person = await registration.register(input, hashingQueuesOf(ctx.ip), 'invitation');
      const account = await directory.accounts.findByOid(person.user.id);
      if (!account) return pages.lost(ctx);
      logger.info(
        { requestId: requestId(ctx), invitation: opened.ref.id, tenant: personal.id },
        'personal account created by an invitation',
      );
      const proof = await directory.credentials.proofOf(account, createdAt);
      const signIn = { oid: person.user.id, amr: ['pwd'], idp: 'local', proof };
      await signInThere(ctx, opened, { signIn, loginHint: email });
    } catch (error) {
      await attempts(counter, DAY_MS, -1);
      if (IdpError.is(error, 'user_name_taken')) return refused(taken);
      if (!IdpError.is(error, 'busy')) throw error;
      await busy(error);
    }
  });
}

const namesOf = ({ givenName = '', familyName = '' }: PersonNames) => ({ givenName, familyName });

/** The text about a field that registration refuses. */
const problemOf = ({ field, isTaken, rule }: RegistrationProblem): readonly [string, string] => [
  field,
  isTaken ? 'invitations.create.taken' : (ofRules[rule ?? ''] ?? `invitations.create.${field}Problem`),
];
