/** Creation of a personal account by an invitation, if the service has no mail. With mail, the registration of the sign-in pages creates the account. */
import type { Context } from 'koa';
import {
  Attempt,
  type ExtensionContext,
  type ExtensionRouter,
  hashingQueuesOf,
  IdpError,
  type PersonNames,
  passwordField,
  type RegistrationInput,
  type RegistrationProblem,
  type Text,
  typedField,
} from '../../lib/extension-door.js';
import type { AdmissionParts, Admissions, Admitted } from './admission.js';
import { type CreateForm, formSubject, passwordProblems } from './pages.js';

/** Problems for which the page is shown again. */
interface Again {
  readonly problem?: Text;
  readonly problems?: Required<CreateForm>['problems'];
  readonly status?: number;
}

type Refused = (more: Again) => Promise<void>;

/** Parts of the routes of a browser that is admitted. */
export interface AdmittedParts extends AdmissionParts {
  readonly context: ExtensionContext;
  readonly admissions: Admissions;
}

export function personalAccountRoutes(router: ExtensionRouter, parts: AdmittedParts): void {
  const { context, base, pages, admissions } = parts;

  router.get(`${base}/create`, context.impersonation.inPerson, async (ctx: Context) => {
    const admitted = await admissions.open(ctx);
    if (admitted) await showCreate(parts, ctx, admitted, namesOf(admitted.opened.person));
  });

  router.postForm(`${base}/create`, {
    open: (ctx) => admissions.open(ctx),
    subject: ({ opened }) => formSubject(opened.ref),
    again: (ctx, { opened }) => pages.foreign(ctx, opened),
    refill: (ctx, admitted) => showCreate(parts, ctx, admitted, {}),
    async take(ctx, admitted) {
      const input = inputOf(ctx);
      const refused: Refused = (more) => showCreate(parts, ctx, admitted, input, more);
      try {
        await create(parts, ctx, admitted, input, refused);
      } catch (error) {
        if (IdpError.is(error, 'user_name_taken')) return refused({ status: 400, problems: { email: 'invitations.create.taken' } });
        if (!IdpError.is(error, 'busy')) throw error;
        ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
        return refused({ status: 503, problem: 'invitations.accept.busy' });
      }
    },
  });
}

async function showCreate(
  { context, pages, admissions }: AdmittedParts,
  ctx: Context,
  { opened, personal }: Admitted,
  values: Partial<CreateForm['values']>,
  more: Again = {},
): Promise<void> {
  const rules = await context.directory.forTenant(personal.id).registration.rules('invitation');
  if (!rules) return pages.lost(ctx);
  const { email = '' } = opened.person;
  await pages.create(ctx, opened, personal, {
    action: admissions.stepUrl('create', opened.ref),
    values: { givenName: '', familyName: '', email, ...values },
    ...rules,
    ...more,
  });
}

/** Creates the account and signs it in. Only created accounts count towards the rate limit of accounts. */
async function create(
  { context, pages, admissions }: AdmittedParts,
  ctx: Context,
  { opened, personal }: Admitted,
  input: RegistrationInput,
  refused: Refused,
): Promise<void> {
  const { directory, http, limits, service } = context;
  const { eventMetadata: metadata, ref } = opened;
  const { registration } = directory.as(metadata ? { metadata } : {}).forTenant(personal.id);
  const often = { status: 429, problem: 'invitations.create.often' } as const;
  const attempt = new Attempt();
  if ((await attempt.count(limits.limit('invitationForms'), ref.id)).isOver) return refused(often);
  await attempt.run(async () => {
    const problems = await registration.problems(input);
    if (problems.length > 0) return refused({ status: 400, problems: Object.fromEntries(problems.map(problemOf)) });
    const creation = await limits.limit('invitationAccounts').attempt(ref.id);
    if (creation.isOver) return refused(often);
    await creation.run(async () => {
      const createdAt = new Date(service.now());
      const { user } = await registration.register(input, hashingQueuesOf(ctx.ip), 'invitation');
      const account = await directory.accounts.findByOid(user.id);
      if (!account) return await pages.lost(ctx);
      const fields = { requestId: http.requestId(ctx), invitation: ref.id, tenant: personal.id };
      service.logger.info(fields, 'personal account created by an invitation');
      const proof = await directory.credentials.proofOf(account, createdAt);
      const signIn = { oid: user.id, amr: ['pwd'], idp: 'local', proof };
      await admissions.signInToPersonal(ctx, opened, { signIn, loginHint: input.email });
    });
  });
}

const inputOf = (ctx: Context): RegistrationInput & Record<'givenName' | 'familyName', string> => ({
  givenName: typedField(ctx, 'givenName', 'personName'),
  familyName: typedField(ctx, 'familyName', 'personName'),
  email: typedField(ctx, 'email', 'address'),
  password: passwordField(ctx, 'password'),
});

const namesOf = ({ givenName = '', familyName = '' }: PersonNames) => ({ givenName, familyName });

/** Returns a field that the registration refuses, with its text. */
const problemOf = ({ field, isTaken, rule }: RegistrationProblem): readonly [string, string] => [
  field,
  isTaken ? 'invitations.create.taken' : (passwordProblems[rule ?? ''] ?? `invitations.create.${field}Problem`),
];
