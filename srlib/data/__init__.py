"""What comes in: schemas, codes, files of microdata, the survey."""

from srlib.data.acs import ACS, embedded_population, recode_acs
from srlib.data.codes import Codes, cell_numbers, distinct, row_numbers
from srlib.data.microdata import load, read_table
from srlib.data.schema import Microdata, Schema, Variable
