/**
 * The client of the admin API: the door `tenant-idp/admin-client`, for programs in which the service does not run.
 *
 * `operations` is written from the OpenAPI document by `npm run admin-client`, with `openapi-typescript`. `client` types requests by it, and sends again what
 * is safe to send again. A request gets an access token by client credentials (`access-tokens`), and a refusal becomes an error with the code of its problem
 * details (`admin-api-error`).
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
  Subsidiary,
  Tenant,
  Unreadable,
  User,
  Webhook,
  WebhookDelivery,
  WebhookTest,
  WebhookWithSecret,
} from './operations.js';
