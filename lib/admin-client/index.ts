/**
 * The client of the admin API: the door `tenant-idp/admin-client`, for programs in which the service does not run.
 *
 * `operations` is written from the OpenAPI document by `npm run admin-client`. `client` types requests by it. A request gets an access token by client
 * credentials (`access-tokens`), is sent again where that is safe (`retries`), and a refusal becomes an error with the code of its problem details
 * (`admin-api-error`).
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
