/** The context of an extension, in groups. The interface of each group is in `context/`, in a file with the group's name. */
import type { Directory } from '../directory/index.js';
import type { ExtensionClaims } from './context/claims.js';
import type { ExtensionHttp } from './context/http.js';
import type { ExtensionImpersonation } from './context/impersonation.js';
import type { ExtensionKeys } from './context/keys.js';
import type { ExtensionLimits } from './context/limits.js';
import type { ExtensionPages } from './context/pages.js';
import type { ExtensionRecords } from './context/records.js';
import type { ExtensionService } from './context/service.js';
import type { ExtensionSessions } from './context/sessions.js';
import type { ExtensionSignIn } from './context/sign-in.js';
import type { ExtensionWork } from './context/work.js';

/** Returns the context of an extension, by the extension's name. */
export type ContextOf = (extension: string) => ExtensionContext;

/** All parts of the service that an extension may use. */
export interface ExtensionContext {
  /** The service itself: its issuer, paths, time, log and options. */
  readonly service: ExtensionService;
  /** Tenants, persons, users, groups, clients and API resources. */
  readonly directory: Directory;
  /** Requests: access tokens, forms and cookies of incoming requests, and guarded calls to URLs that others chose. */
  readonly http: ExtensionHttp;
  /** Pages in the look of the sign-in pages, and their texts. */
  readonly pages: ExtensionPages;
  /** The sign-in of the browser, and the steps that lead to a sign-in. */
  readonly signIn: ExtensionSignIn;
  /** Sign-ins of users, to list and to end them. */
  readonly sessions: ExtensionSessions;
  /** Sign-ins of support agents as a user. */
  readonly impersonation: ExtensionImpersonation;
  /** Claims of accounts, and pseudonyms of users, as a caller gets them. */
  readonly claims: ExtensionClaims;
  /** Durable rows and short-lived artifacts of the extension. */
  readonly records: ExtensionRecords;
  /** Deliveries, events and mails, which outlive the request. */
  readonly work: ExtensionWork;
  /** Signing keys, signatures and encrypted values. */
  readonly keys: ExtensionKeys;
  /** Limits of the options, and counters that all nodes share. */
  readonly limits: ExtensionLimits;
}
