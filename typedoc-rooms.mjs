/** Groups the documentation of the API: an export is in the category of the room that declares it. */
import { relative } from 'node:path';
import { Comment, CommentTag, Converter, ReflectionKind } from 'typedoc';

/** Categories by file: the first that fits. An export that fits no category is an error, so that no export is lost among others. */
const categories = [
  [/^lib\/(service\/(on-first-use|identity-provider)|contract\/sign-in\/sessions|store\/outages\/health)\./, 'The service'],
  [/^lib\/options\//, 'Options'],
  [/^lib\/(directory\/seed\/)/, 'Options'],
  [/^lib\/(claims|testing)\//, 'Claims'],
  [/^lib\/contract\/|^lib\/http\/|^lib\/fetch\/|^lib\/(acr-values|awaitable)\.|^lib\/store\/records\/extension-artifacts\./, 'Extensions'],
  [/^lib\/directory\/tenants\/extension-rows\./, 'Extensions'],
  [/^lib\/events\.|^lib\/directory\/outbox\//, 'Events'],
  [/^lib\/errors\.|^lib\/config-problem\./, 'Errors'],
  [/^lib\/(background|display|text|times)\//, 'Extensions'],
  [/^lib\/present\./, 'Extensions'],
  [/^lib\/logger\./, 'The service'],
  [/^lib\/admin-client\//, 'Administration'],
  [/^lib\/store\/records\/(records|persons|organisations|clients|service-records|sign-ins|stored)\./, 'Records'],
  [/^lib\/directory\//, 'Services of the directory'],
  [/^lib\/store\/|^lib\/service\/copy-directory\.|^adapters\/conformance\//, 'Stores and adapters'],
  [/^adapters\//, 'Stores and adapters'],
  [/^extensions\/saml\//, 'SAML'],
  // Exports of other packages, handed on for extensions.
  [/^node_modules\/@(sinclair\/typebox|types\/koa)\//, 'Extensions'],
];

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    const root = process.cwd();
    for (const reflection of context.project.getReflectionsByKind(ReflectionKind.SomeExport)) {
      if (reflection.kindOf(ReflectionKind.SomeModule) || !reflection.parent?.kindOf(ReflectionKind.SomeModule)) continue;
      // An export of a second door is documented where the first is.
      if (reflection.kindOf(ReflectionKind.Reference)) continue;
      const file = context.getSymbolFromReflection(reflection)?.declarations?.[0]?.getSourceFile().fileName;
      if (file === undefined) continue;
      const path = relative(root, file);
      const category = categories.find(([pattern]) => pattern.test(path))?.[1];
      if (category === undefined) {
        app.logger.error(`typedoc-rooms.mjs has no category for ${reflection.name} of ${path}`);
        continue;
      }
      reflection.comment ??= new Comment();
      reflection.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text: category }]));
    }
  });
}
