const roomNamePattern = /^[A-Za-z0-9_-]{1,200}$/;

/** Whether a text can be the name of a room: 1 to 200 letters, digits, `-` or `_`. */
export function isRoomName(text: string): boolean {
  return roomNamePattern.test(text);
}

/** The room a websocket URL's path names (`/<room>`), or undefined when it is no room name. The query is ignored. */
export function parseRoomName(requestUrl: string | undefined): string | undefined {
  const path = requestUrl?.split("?", 1)[0] ?? "";
  const name = path.slice(1);
  return path.startsWith("/") && isRoomName(name) ? name : undefined;
}
