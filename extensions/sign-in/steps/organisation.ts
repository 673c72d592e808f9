/**
 * Choice among the organisations that one password signs in to. The last used organisation comes first. If there are many organisations, the page has a
 * search.
 */
import type { Context } from 'koa';
import {
  type Account,
  type ExtensionContext,
  formField,
  type Interaction,
  type Proof,
  recordForms,
  shownName,
  typedField,
} from '../../../lib/extension-door.js';
import type { OrganisationChoice, PageView } from '../view-models.js';
import type { Steps } from './steps.js';

/** Number of organisations from which the page has a search. */
const SEARCHED_FROM = 8;
/** Maximum number of organisations in the search, because the form contains each of them. */
const SEARCHED_TO = 400;
/** Maximum characters of the value of a choice: an id, a time and a token. */
const LONGEST_CHOICE = 128;
/** Maximum characters of a search: of a user name, which is longer than the name of an organisation. */
const { maxLength: LONGEST_SEARCH } = recordForms.members.user.userName;

export function createOrganisationStep({ directory, http: { csrf }, signIn: { interactions } }: ExtensionContext, { form }: Steps) {
  const { accounts, credentials } = directory;

  const choiceFor = (ctx: Context, interaction: Interaction, { person, tenant }: Account, proof: Proof): OrganisationChoice => ({
    value: `${person.user.id}.${proof.at}.${csrf.token(ctx, choiceOf(interaction, person.user.id, proof))}`,
    tenantName: tenant.name,
    personName: shownName(person),
    userName: person.user.userName,
  });

  /** Returns the account of a choice, while its proof is valid. */
  async function chosen(ctx: Context, interaction: Interaction, choice: string): Promise<Chosen | undefined> {
    const [oid = '', provenAt = '', token] = choice.split('.');
    const account = /^\d{1,15}$/.test(provenAt) ? await accounts.findByOid(oid) : undefined;
    const proof = account && (await credentials.proofOf(account, new Date(Number(provenAt))));
    return account && proof && csrf.check(ctx, choiceOf(interaction, oid, proof), token) ? { account, proof } : undefined;
  }

  function viewOf(
    ctx: Context,
    interaction: Interaction,
    all: readonly Chosen[],
    identifier: string,
    search = '',
  ): PageView<'organisation'> {
    const remembered = interactions.remembered(ctx);
    const lastUse = ({ account: { person } }: Chosen): number => {
      const index = remembered.indexOf(person.user.id);
      return index < 0 ? remembered.length : index;
    };
    const byUse = all.toSorted(
      (one, other) => lastUse(one) - lastUse(other) || one.account.tenant.name.localeCompare(other.account.tenant.name),
    );
    const choices = byUse.map(({ account, proof }) => choiceFor(ctx, interaction, account, proof));
    const wanted = search.toLowerCase();
    return {
      page: 'organisation',
      ...form(ctx, interaction, '/organisation'),
      identifier,
      choices: choices.filter((choice) => [choice.tenantName, choice.userName].some((name) => name.toLowerCase().includes(wanted))),
      ...(choices.length >= SEARCHED_FROM && choices.length <= SEARCHED_TO
        ? { find: { search, all: choices.map(({ value }) => value).join(',') } }
        : {}),
    };
  }

  return {
    chosen,

    /** Returns the page with all accounts. @param provenAt time of the proof by the password */
    async view(ctx: Context, interaction: Interaction, given: readonly Account[], provenAt: Date): Promise<PageView<'organisation'>> {
      const all = await Promise.all(given.map(async (account) => ({ account, proof: await credentials.proofOf(account, provenAt) })));
      return viewOf(ctx, interaction, all, formField(ctx, 'identifier').trim());
    },

    /** Returns the page with the organisations that match the search; undefined if none of the choices is valid any more. */
    async search(ctx: Context, interaction: Interaction): Promise<PageView<'organisation'> | undefined> {
      const values = formField(ctx, 'all', SEARCHED_TO * LONGEST_CHOICE)
        .split(',')
        .slice(0, SEARCHED_TO);
      const all = (await Promise.all(values.map((value) => chosen(ctx, interaction, value)))).filter((each) => each !== undefined);
      const search = typedField(ctx, 'search', 'line', LONGEST_SEARCH);
      return all.length === 0 ? undefined : viewOf(ctx, interaction, all, formField(ctx, 'identifier').trim(), search);
    },
  };
}

interface Chosen {
  readonly account: Account;
  readonly proof: Proof;
}

/** Returns the subject of the token of a choice: this account, in this sign-in, while the proof stays the same. */
const choiceOf = ({ uid }: Interaction, oid: string, { at, credentials }: Proof): string => `choice ${uid} ${oid} ${at} ${credentials}`;
