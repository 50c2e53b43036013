/** Something for sale. */
export interface Item {
  readonly id: string;
  readonly stock: number;
}
