/**
 * The operations that most resources have. A resource gives the parts that differ: the form of a record, its view in answers, and its service in the
 * directory.
 */
import type { TObject } from '@sinclair/typebox';
import {
  IdpError,
  knownPart,
  type Operation,
  type OperationRequest,
  pageOf,
  type Reach,
  viewedOrId,
  writeJudged,
} from '../../../../lib/extension-door.js';
import { type Damaged, isUnexplained, overDamaged, pointersOf } from '../../unreadable.js';
import { viewOf, without } from './forms.js';
import { type Fields, mergedMembers, mergeForm } from './merge-patch.js';

type Params = Readonly<Record<string, string>>;
export type Request = OperationRequest<Params, Fields, Fields> & Damaged;

/** Members that every record has. */
interface Stored {
  readonly id: string;
  readonly version: number;
}

/** Methods of a service of the directory for one resource. */
interface Service<Row> {
  list(query: Fields): Promise<{
    readonly items: readonly Row[];
    readonly next?: string | undefined;
    readonly unreadable?: readonly { readonly id: string; readonly path: string }[];
  }>;
  get(id: string): Promise<Row | undefined>;
  create(input: Fields): Promise<Row>;
  /**
   * @param check gets the record that is about to be replaced, and throws if it is not the expected version
   * @param isConfirmed as {@link Judged} has it
   */
  update(id: string, patch: Fields, check: (row: Row) => void, isConfirmed?: boolean): Promise<Row>;
  /** @param check as for a change. A service that needs no check ignores `check`. */
  remove(id: string, check?: (row: Row) => void): Promise<unknown>;
}

/** The decision of a guard about a change, in addition to the members. */
export interface Judged {
  /** Whether the write itself records that the administrator vouches for what others wrote. */
  readonly isConfirmed?: boolean;
  /** Runs after the write. */
  readonly follow?: (() => Promise<void>) | undefined;
}

/** A body as the directory reads it. */
export interface Understood {
  readonly body: Fields;
  readonly warnings: readonly { readonly path: string; readonly reason: string }[];
}

interface CrudOptions<Row extends Stored> {
  /** The name in scopes, such as `groups`. */
  readonly name: string;
  /** The noun in summaries, such as `a group`. */
  readonly noun: string;
  /** The path of the list, such as `/tenants/{tid}/groups`. */
  readonly path: string;
  /** The collection and the index by which a record is found. @default the collection with the name of the resource, by id */
  readonly record?: { readonly collection: string; readonly index?: string; readonly pointer?: string };
  /** The parameter that names a record. @default 'id' */
  readonly idParam?: string;
  /** The schema of a record in answers. */
  readonly item: TObject;
  /** @default the members of the record that `item` has */
  readonly view?: (row: Row) => Fields;
  /** Returns the service of a request. The methods of the service get `never`, because the forms state what each method gets. */
  readonly service: (request: Request) => {
    readonly [Method in keyof Service<Row>]?: (...args: never[]) => ReturnType<Service<Row>[Method]>;
  };
  /** The query of the list. A resource without a query has no list. */
  readonly query?: TObject;
  readonly listReach?: Reach;
  /** Narrows the list to what the administrator may see. */
  readonly narrowed?: (request: Request, query: Fields) => Fields;
  /** The form of a creation. A resource without this form has no creation. With a member `id`, the caller may choose the id. */
  readonly form?: TObject;
  /** The form of a change. A resource without this form has no change. The member `confirm` of a change is for the guard alone, and is not stored. */
  readonly changeable?: TObject;
  /**
   * Reads a body that contains a document as administrators paste it. Only the answer to the write has the warnings.
   * @param row the record that a patch changes
   */
  readonly understood?: (request: Request, row: Row | undefined) => Understood;
  /** Members of the answer to a write that no other answer has, so that the `ETag` leaves them out. */
  readonly outsideTag?: readonly string[];
  /** Members that a change cannot remove. */
  readonly always?: readonly string[];
  /** Errors of creation and change, in addition to the errors that every operation has. */
  readonly errors?: readonly string[];
  readonly isRemovable?: boolean;
  /** Errors of removal, in addition to the errors that every operation has. */
  readonly removeErrors?: readonly string[];
  readonly removeReach?: Reach;
  /** Throws if the administrator may not write these members to the record, or to a new record. */
  readonly guard?: (request: Request, row: Row | undefined, members: Fields) => void | Promise<void> | Promise<Judged | undefined>;
  /** Throws if the administrator may not remove the record. The service removes the version that was judged. @default `guard`, with no members */
  readonly guardRemoval?: (request: Request, row: Row) => void | Promise<void>;
}

/** Returns the operations that list, read, create, change and remove records, as far as the options declare them. */
export function crud<Row extends Stored>(options: CrudOptions<Row>): readonly Operation[] {
  const { name, noun, path, idParam = 'id', item, query, form, changeable, always = [], guard } = options;
  const { view: viewOfRow = viewOf<Row>(item) } = options;
  // A later release may have stored members that this one does not know.
  const view = (row: Row): Fields => knownPart(item, viewOfRow(row)) as Fields;
  const one = `${path}/{${idParam}}`;
  const read = { scope: `idp.${name}:read` };
  const write = { scope: `idp.${name}:write` };
  const errors = ['conflict', ...(options.errors ?? [])];
  const tagged = options.outsideTag ? { outsideTag: options.outsideTag } : {};
  const understood = options.understood ?? (({ body }: Request): Understood => ({ body, warnings: [] }));
  const viewAfterWrite = (row: Row, { warnings }: Understood): Fields => view(warnings.length > 0 ? { ...row, warnings } : row);
  const { pointer = '', ...place } = options.record ?? { collection: name };
  const record = { ...place, param: idParam };
  const service = (request: Request) => options.service(request) as unknown as Service<Row>;
  const idOf = ({ params }: Request): string => params[idParam] as string;

  async function found(request: Request): Promise<Row> {
    const row = await service(request).get(idOf(request));
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  async function list(request: Request) {
    const { items, next, unreadable = [] } = await service(request).list(options.narrowed?.(request, request.query) ?? request.query);
    return {
      items: await Promise.all(items.map((row) => viewedOrId(row, () => view(row)))),
      ...(next !== undefined && { next }),
      ...(unreadable.length > 0 && { unreadable }),
    };
  }

  async function create(request: Request): Promise<Fields> {
    const { isRetry, newId } = request;
    const read = understood(request, undefined);
    const { body } = read;
    await guard?.(request, undefined, body);
    const id = String(body.id ?? newId());
    const before = isRetry && body.id === undefined ? await service(request).get(id) : undefined;
    return viewAfterWrite(before ?? (await service(request).create({ ...body, id })), read);
  }

  /**
   * Changes the record, in one attempt. The guard judges the version that is replaced, because the record may come from a cache and other requests may
   * change it.
   */
  async function changeOnce(asked: Request): Promise<Fields> {
    const row = await service(asked).get(idOf(asked));
    const request = row ? asked : await overDamaged(asked, record, guard !== undefined, pointersOf(asked.body, pointer));
    let read: Understood = { body: {}, warnings: [] };
    const membersOf = (row: Row): Fields => {
      read = understood(request, row);
      // A written member loses parts that this release does not know, because only known parts may be written.
      return mergedMembers((changeable ? knownPart(changeable, row) : row) as Fields, read.body);
    };
    let judged: Judged | undefined;
    const changed = await writeJudged(
      row ?? (await found(request)),
      async (row) => {
        judged = (await guard?.(request, row, membersOf(row))) ?? undefined;
      },
      (check, row) => {
        const { confirm: _, ...patch } = membersOf(row);
        const checkRow = (current: Row): void => {
          request.checkMatch(view(current));
          check(current);
        };
        return service(request).update(idOf(request), patch, checkRow, judged?.isConfirmed);
      },
    );
    await judged?.follow?.();
    return viewAfterWrite(changed, read);
  }

  /**
   * Changes the record, in at most two attempts. A record from a cache may have become malformed in the store. The caches drop the record with the failed
   * write, so that the second attempt repairs it.
   */
  const change = (request: Request): Promise<Fields> =>
    changeOnce(request).catch((error: unknown) => {
      if (!isUnexplained(error)) throw error;
      return changeOnce(request);
    });

  /** Removes an unreadable record, with its dependent records as far as the record can be read. */
  async function removeUnreadable(request: Request): Promise<void> {
    const isJudged = guard !== undefined || options.guardRemoval !== undefined;
    const over = await overDamaged(request, record, isJudged, pointer === '' ? undefined : [pointer]);
    const row = isJudged ? await service(over).get(idOf(over)) : undefined;
    if (!row && options.guardRemoval) throw new IdpError('record_unreadable');
    await (row ? removeJudged(over, row) : service(over).remove(idOf(over)));
  }

  async function remove(request: Request): Promise<void> {
    const row = await found(request);
    request.checkMatch(view(row));
    await removeJudged(request, row);
  }

  async function removeJudged(request: Request, row: Row): Promise<void> {
    const { guardRemoval } = options;
    if (guardRemoval)
      await writeJudged(
        row,
        (judged) => guardRemoval(request, judged),
        (check) => service(request).remove(idOf(request), check),
      );
    else {
      await guard?.(request, row, {});
      await service(request).remove(idOf(request));
    }
  }

  const reach = (given: Reach | undefined) => (given === undefined ? {} : { reach: given });
  return [
    ...(query
      ? [
          operation({
            ...read,
            ...reach(options.listReach),
            method: 'GET',
            path,
            summary: `Lists ${plural(name)}`,
            query,
            answer: pageOf(item),
            errors: ['invalid_cursor'],
            handle: list,
          }),
        ]
      : []),
    ...(form
      ? [
          operation({
            ...write,
            method: 'POST',
            path,
            summary: `Creates ${noun}`,
            body: form,
            answer: item,
            status: 201,
            errors,
            ...tagged,
            handle: create,
          }),
        ]
      : []),
    operation({
      ...read,
      method: 'GET',
      path: one,
      record,
      summary: `Reads ${noun}`,
      answer: item,
      handle: async (request) => view(await found(request)),
    }),
    ...(changeable
      ? [
          operation({
            ...write,
            method: 'PATCH',
            path: one,
            record,
            summary: `Changes ${noun}`,
            body: mergeForm(without(changeable, 'id'), always),
            answer: item,
            errors,
            ...tagged,
            handle: change,
          }),
        ]
      : []),
    ...(options.isRemovable
      ? [
          operation({
            ...write,
            ...reach(options.removeReach),
            method: 'DELETE',
            path: one,
            record,
            summary: `Removes ${noun}`,
            ...(options.removeErrors && { errors: options.removeErrors }),
            handle: remove,
            removeUnreadable,
          }),
        ]
      : []),
  ];
}

const plural = (name: string): string => name.replaceAll('-', ' ').replace(/^api\b/, 'API');

type AnyOperation = Omit<Operation, 'handle' | 'removeUnreadable'> & {
  readonly handle: (request: Request) => unknown;
  readonly removeUnreadable?: (request: Request) => Promise<void>;
};

/** Returns an operation whose schemas are known only at run time. */
const operation = (given: AnyOperation): Operation => given as unknown as Operation;
