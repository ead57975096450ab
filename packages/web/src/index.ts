export type { AppHandler, AppHandlerOptions } from "./server/create-app-handler.ts";
export { createAppHandler, isAppBuilt } from "./server/create-app-handler.ts";
