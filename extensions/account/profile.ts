/**
 * Section “Profile” of the account page: the name, the phone number, the language and attributes of the person, as far as the tenant lets its users change
 * them. `profile-attributes` has the fields of attributes.
 */
import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  cleanText,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  type InLanguage,
  isName,
  type Limit,
  type OwnAttribute,
  type OwnChanges,
  type OwnPage,
  type OwnPageState,
  type Person,
  problemsOf,
  recordForms,
  referenceToken,
  type SelfServicePart,
  selfServiceOf,
  type Text,
  typedField,
  type ViewPart,
} from '../../lib/extension-door.js';
import { attributeField, attributePart, attributeText, attributeWords, isShowable, maximumsOf, typedValue } from './profile-attributes.js';
import { addReturn, type Section } from './section.js';

const pathOf = ({ service: { own } }: Pick<ExtensionContext, 'service'>): string => `${own}/account/profile`;
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'account:profile', pathOf(context), 'credentialChange');

/** Members of the person on the page. */
type Member = Exclude<keyof OwnChanges, 'attributes'>;
type Field = Member | OwnAttribute;
/** Members of each part, in the order of the page. Attributes follow. */
const membersOfPart: Readonly<Record<Exclude<SelfServicePart, 'attributes'>, readonly Member[]>> = {
  name: ['givenName', 'familyName'],
  phone: ['phoneNumber'],
  locale: ['locale'],
};
const parts = Object.keys(membersOfPart) as readonly (keyof typeof membersOfPart)[];

/** Returns the name of the field in the form. */
const nameOf = (field: Field): string => (typeof field === 'string' ? field : attributeField(field));
/** Returns the stored value of the field. An empty text is no value. */
const textOf = (field: Field, person: Person): string => (typeof field === 'string' ? (person[field] ?? '') : attributeText(field, person));

/** Values of fields, by their names in the form. An empty text is no value. */
type Values = Partial<Record<string, string>>;
type Problems = Partial<Record<string, Text>>;

/** A browser whose sign-in may change the profile. The person is read from the store, because the sign-in may have a cached person. */
interface Visit {
  readonly here: BrowserSignIn;
  readonly person: Person;
  /** Fields that the tenant lets the user change. */
  readonly fields: readonly Field[];
}

/** State of the form after a refused change. */
interface Refused {
  readonly typed: Values;
  readonly status: number;
  /** Problem of the whole form. */
  readonly problem?: Text;
  readonly problems?: Problems;
}

const subjectOf = ({ here }: Visit): string => `profile ${here.oid}`;

/** Returns the fields as the user sees them. The form posts the fields back, so that a form does not overwrite a value that the user has not seen. */
const seenOf = (person: Person, fields: readonly Field[]): string => JSON.stringify(fields.map((field) => seenText(textOf(field, person))));

/** Returns a text as {@link seenOf} has it. A text that is long, also in percent-encoding, is replaced by a digest, so that the form stays short. */
const seenText = (text: string): string => (/^[\w ]{0,40}$/.test(text) ? text : createHash('sha256').update(text).digest('base64url'));

/** Maximum characters of {@link seenOf}. */
const MOST_SEEN = 32_768;

/** Returns the values of {@link seenOf}. A form that was altered has no values. */
function valuesIn(seen: string, fields: readonly Field[]): Values {
  try {
    const values: unknown = JSON.parse(seen);
    const isWhole = Array.isArray(values) && values.length === fields.length && values.every((value) => typeof value === 'string');
    return isWhole ? Object.fromEntries(fields.map((field, at) => [nameOf(field), values[at]])) : {};
  } catch {
    return {};
  }
}

/** Signals that the person was changed after the form was shown. */
const changedMeanwhile = new Error('the person changed');

/** Returns the name of a language in the language itself, or the tag of a language without a name. */
function languageName(tag: string): string {
  try {
    const name = new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;
    return name.replace(/^./u, (first) => first.toLocaleUpperCase(tag));
  } catch {
    // A stored tag may be older than the rule for tags.
    return tag;
  }
}

/** @param maximums maximum characters of texts, by the names of attributes */
const typedOf = (ctx: Context, fields: readonly Field[], maximums: ReadonlyMap<string, number>): Values =>
  Object.fromEntries(
    fields.map((field) => {
      if (typeof field !== 'string') return [nameOf(field), cleanText('line', formField(ctx, nameOf(field), maximums.get(field.name)))];
      return [field, typedField(ctx, field, field === 'phoneNumber' || field === 'locale' ? 'line' : 'personName')];
    }),
  );

/** Returns the problems of the members that the user changed. */
function problemsOfMembers(typed: Values, person: Person, languages: readonly string[]): Problems {
  const { givenName = '', familyName = '', phoneNumber = '', locale = '' } = typed;
  const isChanged = (field: Member): boolean => typed[field] !== undefined && typed[field] !== textOf(field, person);
  const isNameless = typed.givenName !== undefined && !isName(givenName) && !isName(familyName);
  const isRefused = (field: 'givenName' | 'familyName' | 'phoneNumber', value: string): boolean =>
    isChanged(field) && value !== '' && problemsOf(recordForms.person[field], value).length > 0;
  const isNoNumber = isChanged('phoneNumber') && phoneNumber !== '' && !/^\+?(?:[ ()./-]*\d){3,}[ ()./-]*$/.test(phoneNumber);
  return {
    ...(isNameless && (isName(person.givenName) || isName(person.familyName)) && { givenName: 'account.profile.nameless' }),
    ...(isRefused('givenName', givenName) && { givenName: 'account.profile.tooLong' }),
    ...(isRefused('familyName', familyName) && { familyName: 'account.profile.tooLong' }),
    ...((isNoNumber || isRefused('phoneNumber', phoneNumber)) && { phoneNumber: 'account.profile.phoneProblem' }),
    ...(isChanged('locale') && !['', ...languages].includes(locale) && { locale: 'account.profile.languageProblem' }),
  };
}

/** Returns the attributes that the user changed, each with the value or the problem. */
const typedAttributes = (typed: Values, person: Person, fields: readonly Field[]) =>
  fields.flatMap((field) => {
    const text = typed[nameOf(field)] ?? '';
    if (typeof field === 'string' || text === textOf(field, person)) return [];
    const read = typedValue(field, text);
    // A number has several texts, such as `1.5` and `1,50`.
    return 'value' in read && read.value === person.attributes[field.name] ? [] : [{ field, ...read }];
  });

/** Returns the problems of the fields that the user changed. */
const problemsIn = (typed: Values, { person, fields }: Visit, languages: readonly string[]): Problems => ({
  ...problemsOfMembers(typed, person, languages),
  ...Object.fromEntries(
    typedAttributes(typed, person, fields).flatMap((each) => ('problem' in each ? [[nameOf(each.field), each.problem]] : [])),
  ),
});

/** Returns the changes that the user made. */
function changesOf(typed: Values, { person, fields }: Visit): OwnChanges {
  const members = fields.flatMap((field) => {
    const value = typed[nameOf(field)] ?? '';
    return typeof field !== 'string' || value === textOf(field, person) ? [] : [[field, value === '' ? null : value]];
  });
  const attributes = typedAttributes(typed, person, fields).flatMap((each) => ('value' in each ? [[each.field.name, each.value]] : []));
  return { ...Object.fromEntries(members), ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }) };
}

/**
 * Returns the form after another change. The form keeps what the user typed, with the stored value beside a field that both changed. The other fields get
 * the stored values.
 */
function overtaken(typed: Values, seen: Values, { person, fields }: Visit, words: Words): Refused {
  const kept = fields.filter((field) => seenText(typed[nameOf(field)] ?? '') !== seen[nameOf(field)]);
  return {
    typed: Object.fromEntries(kept.map((field) => [nameOf(field), typed[nameOf(field)]])),
    status: 409,
    problem: 'account.profile.changedMeanwhile',
    problems: Object.fromEntries(
      kept.flatMap((field) => {
        const stored = textOf(field, person);
        if (seenText(stored) === seen[nameOf(field)] || stored === typed[nameOf(field)]) return [];
        const now = stored === '' ? 'account.profile.nowEmpty' : { key: 'account.profile.now', values: { value: words(field, stored) } };
        return [[nameOf(field), now]];
      }),
    ),
  };
}

/** Returns the words for a text of a field. */
type Words = (field: Field, text: string) => string | InLanguage;

class ProfilePage {
  readonly #context: ExtensionContext;
  readonly #page: OwnPage;
  readonly #path: string;
  /** Rate limit of changes, because each change queues a notice and an event. */
  readonly #changes: Limit;

  constructor(context: ExtensionContext) {
    this.#context = context;
    this.#changes = context.limits.limit('profileChanges');
    this.#page = pageOf(context);
    this.#path = pathOf(context);
  }

  routes(router: ExtensionRouter): void {
    addReturn(router, this.#context, this.#page, this.#path, 'account.profile.title');
    router.get(this.#path, async (ctx) => {
      const visit = await this.#visit(ctx);
      if (visit) await this.#show(ctx, visit);
    });
    router.postForm<Visit>(this.#path, {
      open: (ctx) => this.#visit(ctx),
      subject: subjectOf,
      // Another form may have changed the values back since the same form was sent.
      isEvaluatedAgain: () => true,
      // The values may come from a page of another site, so they are not shown.
      again: (ctx, visit) => this.#show(ctx, visit, { typed: {}, status: 403, problem: 'account.foreign' }),
      take: (ctx, visit) => this.#take(ctx, visit),
    });
  }

  /** Returns the sign-in of the browser with its person. Undefined after another page was shown. */
  async #visit(ctx: Context): Promise<Visit | undefined> {
    const here = await this.#page.present(ctx, this.#path);
    return here && this.#visitOf(here);
  }

  async #visitOf(here: BrowserSignIn): Promise<Visit> {
    const { tenant, person: known } = here.account;
    const allowed = selfServiceOf(tenant);
    const person = await this.#context.directory.forTenant(tenant.id).persons.require(known.id);
    const maximums = this.#maximums;
    const attributes = allowed.includes('attributes')
      ? this.#attributes.filter((attribute) => isShowable(attribute, person, maximums.get(attribute.name) ?? 0))
      : [];
    return {
      here,
      person,
      fields: [...parts.filter((part) => allowed.includes(part)).flatMap((part) => membersOfPart[part]), ...attributes],
    };
  }

  async #take(ctx: Context, visit: Visit): Promise<void> {
    const { here, person, fields } = visit;
    const typed = typedOf(ctx, fields, this.#maximums);
    const seen = formField(ctx, 'seen', MOST_SEEN);
    const words: Words = (field, text) => this.#words(field, text);
    const problems = problemsIn(typed, visit, this.#languagesOf(person));
    const hasProblem = Object.keys(problems).length > 0;
    if (seen !== seenOf(person, fields)) {
      // The first of two equal submissions has saved the values.
      if (!hasProblem && Object.keys(changesOf(typed, visit)).length === 0) return this.#saved(ctx, here, person);
      return this.#show(ctx, visit, overtaken(typed, valuesIn(seen, fields), visit, words));
    }
    if (hasProblem) return this.#show(ctx, visit, { typed, problems, status: 400 });
    const { directory, http } = this.#context;
    const { persons } = directory.as(attributionOf(here, http.requestId(ctx))).forTenant(here.account.tenant.id);
    try {
      const changes = changesOf(typed, visit);
      const counted = Object.keys(changes).length > 0 ? await this.#changes.attempt(here.oid) : undefined;
      if (counted?.isOver) {
        ctx.set('Retry-After', String(counted.seconds));
        const problem = { key: 'account.profile.often', values: { minutes: String(counted.minutes) } };
        return await this.#show(ctx, visit, { typed, status: 429, problem });
      }
      const save = () =>
        persons.updateOwn(person.id, changes, (current) => {
          if (seenOf(current, fields) !== seen) throw changedMeanwhile;
        });
      await this.#saved(ctx, here, await (counted ? counted.run(save) : save()));
    } catch (error) {
      const refused = refusedAttribute(error, visit);
      if (refused) return this.#show(ctx, visit, { typed, status: 400, ...refused });
      // The tenant may have changed its policy since the page was shown.
      if (error !== changedMeanwhile && !IdpError.is(error, 'self_service_refused')) throw error;
      const now = await this.#visitOf(here);
      await this.#show(ctx, now, overtaken(typed, valuesIn(seen, fields), now, words));
    }
  }

  get #maximums(): ReadonlyMap<string, number> {
    return maximumsOf(this.#attributes);
  }

  get #attributes(): readonly OwnAttribute[] {
    return this.#context.service.attributes?.selfService ?? [];
  }

  #words(field: Field, text: string): string | InLanguage {
    if (typeof field !== 'string') return attributeWords(field, text, this.#context.pages);
    return field === 'locale' ? languageName(text) : text;
  }

  /** Returns the languages that the person can choose: the languages of the pages, and the present one. */
  #languagesOf({ locale }: Person): readonly string[] {
    const { locales } = this.#context.service;
    return [...locales, ...(locale === undefined || (locales as readonly string[]).includes(locale) ? [] : [locale])];
  }

  async #saved(ctx: Context, { account: { tenant } }: BrowserSignIn, person: Person): Promise<void> {
    const { service, pages } = this.#context;
    (ctx.state as OwnPageState).ownPageOf = person;
    await pages.view(ctx, {
      tenant,
      title: 'account.profile.saved',
      parts: [{ part: 'link', text: 'account.profile.again', href: service.url(this.#path) }],
    });
  }

  async #show(ctx: Context, visit: Visit, refused: Refused = { typed: {}, status: 200 }): Promise<void> {
    const { here, person, fields } = visit;
    const { tenant } = here.account;
    const { problem, status } = refused;
    await this.#context.pages.view(ctx, {
      tenant,
      title: 'account.profile.title',
      lead: { key: 'account.profile.lead', values: { tenant: tenant.name } },
      status,
      ...(problem !== undefined && { problem }),
      ...(fields.length > 0 && {
        form: { action: this.#context.service.url(this.#path), subject: subjectOf(visit), fields: { seen: seenOf(person, fields) } },
      }),
      parts: [
        ...fields.map((field) => this.#field(field, person, refused)),
        ...(fields.length > 0 ? [{ part: 'button', text: 'account.profile.save' } as const] : []),
        ...this.#fixed(visit),
      ],
    });
  }

  #field(field: Field, person: Person, { typed, problems = {} }: Refused): ViewPart {
    const name = nameOf(field);
    const problem = problems[name];
    const value = typed[name] ?? textOf(field, person);
    if (typeof field !== 'string') return attributePart(field, value, problem);
    const common = { part: 'field', name, value, ...(problem !== undefined && { problem }) } as const;
    if (field !== 'locale') return { ...common, label: fieldLabels[field], autocomplete: autocompletes[field], isOptional: true };
    const languages = this.#languagesOf(person).map((tag) => ({ value: tag, title: { plain: languageName(tag) }, lang: tag }));
    const options = [{ value: '', title: 'account.profile.anyLanguage' }, ...languages];
    return { ...common, kind: 'select', label: fieldLabels.locale, autocomplete: autocompletes.locale, options };
  }

  /** Returns the values that the user cannot change, and who can. */
  #fixed({ here, person, fields }: Visit): readonly ViewPart[] {
    const {
      tenant,
      person: { user },
    } = here.account;
    const facts = [...(Object.keys(factLabels) as Member[]), ...this.#attributes].flatMap((field) => {
      const text = textOf(field, person);
      if (fields.includes(field) || text === '') return [];
      const words = this.#words(field, text);
      const label: Text = typeof field === 'string' ? factLabels[field] : { plain: field.title };
      return [{ label, value: typeof words === 'string' ? { plain: words } : words }];
    });
    return [
      { part: 'facts', facts: [{ label: 'account.profile.userName', value: { plain: user.userName } }, ...facts] },
      { part: 'text', text: { key: 'account.profile.byTenant', values: { tenant: tenant.name } } },
    ];
  }
}

/** Returns the state of the form after the schema of attributes refused a change. Undefined for another error. */
function refusedAttribute(error: unknown, { here, fields }: Visit): Pick<Refused, 'problem' | 'problems'> | undefined {
  const { path } = IdpError.is(error, 'invalid_record') ? error.details : {};
  if (typeof path !== 'string' || !/^\/attributes(?:\/|$)/.test(path)) return undefined;
  const [, , member] = path.split('/');
  const field = fields.find((each) => typeof each !== 'string' && referenceToken(each.name) === member);
  if (field) return { problems: { [nameOf(field)]: 'account.profile.notAllowed' } };
  // The user cannot correct an attribute that is not on the page.
  return { problem: { key: 'account.profile.incomplete', values: { tenant: here.account.tenant.name } } };
}

const factLabels: Readonly<Record<Member, string>> = {
  givenName: 'account.profile.givenName',
  familyName: 'account.profile.familyName',
  phoneNumber: 'account.profile.phoneNumber',
  locale: 'account.profile.language',
};
const fieldLabels: Readonly<Record<Member, string>> = { ...factLabels, phoneNumber: 'account.profile.phoneOptional' };

/** Values of the attribute `autocomplete`. @see HTML, autofill field names */
const autocompletes: Readonly<Record<Member, string>> = {
  givenName: 'given-name',
  familyName: 'family-name',
  phoneNumber: 'tel',
  locale: 'language',
};

export const profile: Section = {
  name: 'profile',
  group: 'person',
  title: 'account.profile.title',
  summary: 'account.profile.summary',
  href: (host) => host.service.url(`${host.service.own}/account/profile`),
  clients: (context) => pageOf(context).clients,
  routes: (router, context) => new ProfilePage(context).routes(router),
};
