const roomNamePattern = /^\/([A-Za-z0-9_-]{1,200})$/;

/** The room a websocket URL's path names (`/<room>`), or undefined when it is no room name. The query is ignored. */
export function parseRoomName(requestUrl: string | undefined): string | undefined {
  const path = requestUrl?.split("?", 1)[0] ?? "";
  return roomNamePattern.exec(path)?.[1];
}
