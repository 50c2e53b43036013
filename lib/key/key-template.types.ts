type IsLoose<T> = 0 extends 1 & T ? true : unknown extends T ? true : false;

/** The placeholders of a template, without their brackets. */
type PlaceholdersIn<S extends string> = S extends `${infer Before}<${infer P}>${infer After}`
  ? Before extends `${string}{${string}`
    ? PlaceholdersInBraces<S>
    : P | PlaceholdersIn<After>
  : PlaceholdersInBraces<S>;

type PlaceholdersInBraces<S extends string> = S extends `${string}{${infer P}}${infer After}`
  ? P | PlaceholdersIn<After>
  : never;

/** Without null and undefined; what is any or unknown stays so. */
type Defined<T> = IsLoose<T> extends true ? T : NonNullable<T>;

/** The type of a property; an element of an array or a record counts as one. Never if there is none. */
type Property<T, Name extends string> = Name extends keyof T
  ? T[Name]
  : Name extends `${number}`
    ? T extends readonly unknown[]
      ? number extends T['length']
        ? T[number]
        : never
      : number extends keyof T
        ? T[number & keyof T]
        : never
    : never;

/** Whether a value of type `T`, not null, may have what the path leads to; one member of a union is enough. */
type HasPath<T, Path extends string> =
  IsLoose<T> extends true
    ? true
    : T extends unknown
      ? Path extends `${infer Name}.${infer Rest}`
        ? [Property<T, Name>] extends [never]
          ? false
          : HasPath<Defined<Property<T, Name>>, Rest>
        : [Property<T, Path>] extends [never]
          ? false
          : true
      : never;

/** Whether a method with these parameters has what a placeholder asks for. */
type HasPlaceholder<
  Args extends readonly unknown[],
  P extends string,
> = P extends `${infer Index}.${infer Path}`
  ? number extends Args['length']
    ? HasPath<Defined<Args[number]>, Path>
    : Index extends keyof Args
      ? HasPath<Defined<Args[Index]>, Path>
      : false
  : number extends Args['length']
    ? true
    : P extends keyof Args
      ? true
      : false;

/** The placeholders that a method with these parameters cannot fill; never if it can fill all. */
export type UnknownPlaceholders<Key, Args extends readonly unknown[]> = Key extends string
  ? string extends Key
    ? never
    : {
        [P in PlaceholdersIn<Key>]: true extends HasPlaceholder<Args, P> ? never : P;
      }[PlaceholdersIn<Key>]
  : Key extends readonly (infer Each)[]
    ? UnknownPlaceholders<Each, Args>
    : never;
