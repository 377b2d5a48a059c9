"""Data sets of R that the literals of BayesFactor are of."""

import numpy as np


def numbers(text):
    return np.array(text.split(), dtype=float)


#: Hours of sleep gained by ten patients with two drugs (Student 1908).
SLEEP = (
    numbers("0.7 -1.6 -0.2 -1.2 -0.1 3.4 3.7 0.8 0.0 2.0"),
    numbers("1.9 0.8 1.1 0.1 -0.1 4.4 5.5 1.6 4.6 3.4"),
)
#: Lengths of teeth of 60 guinea pigs by source of vitamin C and dose (Crampton 1947).
TOOTH = numbers(
    """
    4.2 11.5 7.3 5.8 6.4 10 11.2 11.2 5.2 7 16.5 16.5 15.2 17.3 22.5 17.3 13.6 14.5 18.8 15.5 23.6
    18.5 33.9 25.5 26.4 32.5 26.7 21.5 23.3 29.5 15.2 21.5 17.6 9.7 14.5 10 8.2 9.4 16.5 9.7 19.7
    23.3 23.6 26.4 20 25.2 25.8 21.2 14.5 27.3 25.5 26.4 22.4 24.5 24.8 30.9 26.4 27.3 29.4 23
    """
)
SUPP, DOSE = np.repeat(["VC", "OJ"], 30), np.tile(np.repeat([0.5, 1.0, 2.0], 10), 2)
#: Breaks of yarn by wool and tension (Tukey 1977).
BREAKS = numbers(
    """
    26 30 54 25 70 52 51 26 67 18 21 29 17 12 18 35 30 36 36 21 24 18 10 43 28 15 26 27 14 29 19 29
    31 41 20 44 42 26 19 16 39 28 21 39 29 20 21 24 17 13 15 15 16 28
    """
)
WOOL, TENSION = np.repeat(["A", "B"], 27), np.tile(np.repeat(["L", "M", "H"], 9), 2)
#: Weight, quarter-mile time and miles per gallon of 32 cars (Motor Trend 1974).
WT = numbers(
    """
    2.62 2.875 2.32 3.215 3.44 3.46 3.57 3.19 3.15 3.44 3.44 4.07 3.73 3.78 5.25 5.424 5.345 2.2
    1.615 1.835 2.465 3.52 3.435 3.84 3.845 1.935 2.14 1.513 3.17 2.77 3.57 2.78
    """
)
QSEC = numbers(
    """
    16.46 17.02 18.61 19.44 17.02 20.22 15.84 20 22.9 18.3 18.9 17.4 17.6 18 17.98 17.82 17.42
    19.47 18.52 19.9 20.01 16.87 17.3 15.41 17.05 18.9 16.7 16.9 14.5 15.5 14.6 18.6
    """
)
MPG = numbers(
    """
    21 21 22.8 21.4 18.7 18.1 14.3 24.4 22.8 19.2 17.8 16.4 17.3 15.2 10.4 10.4 14.7 32.4 30.4 33.9
    21.5 15.5 15.2 13.3 19.2 27.3 26 30.4 15.8 19.7 15 21.4
    """
)
HP = numbers(
    """
    110 110 93 110 175 105 245 62 95 123 123 180 180 180 205 215 230 66 52 65 97 150 150 245 175 66
    91 113 264 175 335 109
    """
)
CYL = numbers("6 6 4 6 8 6 8 4 4 6 6 8 8 8 8 8 8 4 4 4 4 8 8 8 8 4 4 4 8 6 8 4")
#: Seconds of twelve people for a puzzle, round or square, in one colour or several (Hays 1994).
PUZZLES = numbers(
    """
    49 47 46 47 48 47 41 46 43 47 46 45 48 46 47 45 49 44 44 45 42 45 45 40 49 46 47 45 49 45 41 43
    44 46 45 40 45 43 44 45 48 46 40 45 40 45 47 40
    """
)
SOLVER = np.tile(np.arange(12), 4)
SHAPE, COLOUR = np.tile(np.repeat(["round", "square"], 12), 2), np.repeat(["one", "several"], 24)
#: Hair (black, brown, red, blond) and eyes (brown, blue, hazel, green) of students (Snee 1974).
HAIR_EYE = [[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]]
#: Choices of a doll by race of doll and child (Hraba and Grant 1970).
DOLLS = [[50, 48], [21, 41]]
