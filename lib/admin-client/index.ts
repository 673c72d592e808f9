/**
 * The client of the admin API: the entry point `tenant-idp/admin-client`, for programs in which the service does not run.
 *
 * `npm run admin-client` writes `operations` from the OpenAPI document, with `openapi-typescript`. `client` types requests by these operations, and retries
 * requests that can safely be retried. `access-tokens` gets access tokens by client credentials. `admin-api-error` turns a refusal into an error with the
 * code of the problem details.
 */
export { type AdminApiError, isAdminApiError, type Problem } from './admin-api-error.js';
export {
  type AdminClient,
  type AdminClientOptions,
  type AdminExchange,
  type AnswerOf,
  createAdminClient,
  type InputOf,
  type ItemOf,
  type ListRoute,
  type RequestOptions,
  type Route,
} from './client.js';
export type {
  AdminErrorCode,
  ApiResource,
  Client,
  ConfirmedMeans,
  Connection,
  Consent,
  Event,
  Factor,
  Group,
  GroupsOfUser,
  Key,
  Links,
  Means,
  MeansOfUser,
  Operations,
  Permission,
  Person,
  PersonExport,
  Secret,
  Session,
  SignIn,
  Subsidiary,
  Tenant,
  Unreadable,
  User,
  Webhook,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
} from './operations.js';
